// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy
package import WatchdogReport
package import WatchdogVerdict

/// One invented incident for each cause of a verdict, with the findings from its stacks and its samples.
package enum Causes {
    package static let all: [(name: String, report: Report)] =
        hangs.map { kind in
            (name(of: kind), report(kind))
        } + [
            ("hang", hang), ("deadlock", deadlock), ("tcp-peer", peer), ("python-lock", python),
            ("background-task", tasks), ("processes", processes), ("trail", trail),
            ("killed-launch", launch), ("goroutines", goroutines),
        ] + Crashes.all

    /// A server that waits for its worker.
    private static var processes: Report {
        var facts = Samples.facts(number: 30)
        facts.evidence.syscall = "61 0xffffffff 0x7ffd 0x0 0x0 0x0 0x0 0x7ffd39e8 0x7f2a9cf0f2ad"
        facts.evidence.waits = [
            WaitDetails(
                process: 4242, thread: 4242, name: "hang-main", syscall: facts.evidence.syscall ?? "",
                subject: "any child", holder: .init(relation: .anyChild, process: 4244, name: "worker", state: "S"),
                sources: ["/proc/4242/task/4242/syscall"])
        ]
        facts.others = Samples.others
        facts.notes = ["3 more processes of the app were left out."]
        return Samples.report(facts)
    }

    /// A server that waits for a proxy of its user, which waits for somebody else's database.
    private static var trail: Report {
        var facts = Samples.facts(number: 32)
        facts.evidence.syscall = "45 0x3 0x7ffd 0x1 0x0 0x0 0x0 0x7ffd39e8 0x7f2a9cf0f2ad"
        facts.trail = TrailDetails(hops: [
            .init(
                link: .reply, process: 4244, name: "proxy<1>", sight: .whole, thread: 4244, state: "S",
                wait: WaitDetails(
                    process: 4244, thread: 4244, name: "proxy<1>",
                    syscall: "7 0x7ffd 0x1 0xffffffff 0x0 0x0 0x0 0x7ffd39e8 0x7f2a9cf0f2ad",
                    subject: "fd 5: Unix socket /run/db, nothing to read", peer: "/run/db",
                    sources: ["/proc/4244/task/4244/syscall"])),
            .init(link: .reply, process: 99, name: "postgres", sight: .outside, thread: 99, state: "S"),
        ])
        facts.strangers = Samples.others.prefix(1).map { $0 }
        return Samples.report(facts)
    }

    /// A launch that downloads everything before its first frame.
    private static var launch: Report {
        var facts = Samples.facts(.sceneCreate, allowance: .milliseconds(19_950), number: 31)
        facts.missed = MissedDetails(.readiness, of: "READY=1")
        facts.launch = killedLaunch
        return Samples.report(facts)
    }

    /// Twenty seconds, most of them for two downloads; the second had not finished.
    package static var killedLaunch: LaunchDetails {
        func signpost(
            _ name: String, _ start: Int64, _ length: Int64?, isOpen: Bool = false, isMain: Bool = true
        )
            -> LaunchDetails.Signpost
        {
            .init(
                name: name, category: "QuickPick", startNanoseconds: start * 1_000_000,
                nanoseconds: length.map { $0 * 1_000_000 }, isOpen: isOpen, isOnMainThread: isMain)
        }
        return LaunchDetails(
            isReady: false, nanoseconds: 20_000_000_000,
            phases: [
                .init(name: "exec", startNanoseconds: -1_400_000, nanoseconds: 1_400_000, isOpen: false),
                .init(name: "hello", startNanoseconds: 0, nanoseconds: 50_000_000, isOpen: false),
                .init(name: "ready", startNanoseconds: 50_000_000, nanoseconds: 19_950_000_000, isOpen: true),
            ],
            signposts: [
                signpost("interface", 60, 40), signpost("odds & ends", 100, nil),
                signpost("decode", 300, 900, isMain: false),
                signpost("friends.json", 2_200, 8_100), signpost("photos", 10_300, 9_700, isOpen: true),
                signpost("photo 5", 16_400, 1_600), signpost("photo 6", 18_000, 2_000, isOpen: true),
            ],
            tasks: [.init(name: "<rows>", startNanoseconds: 70_000_000, nanoseconds: 19_930_000_000, isOpen: true)],
            lostMarks: 3)
    }

    /// The states of a main thread; the other verdicts describe how a process exited.
    package static let hangs = Verdict.Kind.allCases.filter { ![.crashed, .killed, .failed].contains($0) }

    package static func name(of kind: Verdict.Kind) -> String { String(kind.rawValue.map { $0 == " " ? "-" : $0 }) }

    package static func evidence(_ kind: Verdict.Kind) -> HangEvidence {
        var evidence = Samples.blocked
        evidence.window = .seconds(10)
        evidence.runTime = .milliseconds(40)
        func running(_ run: Duration, waiting: Duration = .zero) {
            evidence.runTime = run
            evidence.runDelay = waiting
            evidence.state = "R"
            evidence.syscall = "running"
            evidence.waitChannel = nil
        }
        switch kind {
        case .blocked: break
        case .spinning: running(.milliseconds(9_900))
        case .starved:
            running(.seconds(1), waiting: .milliseconds(8_500))
            evidence.strain = strain()
        case .throttled:
            running(.seconds(1), waiting: .milliseconds(8_900))
            evidence.strain = strain()
            evidence.strain?.throttled = .milliseconds(4_400)
            evidence.strain?.throttledPeriods = 50
        case .memoryStalled:
            evidence.state = "D"
            evidence.syscall = "-1 0x7ffd39e8 0x7f2a9cf0f2ad"
            evidence.waitChannel = "folio_wait_bit_common"
            evidence.strain = strain()
            evidence.strain?.memoryStalled = .milliseconds(4_100)
            evidence.strain?.majorFaults = 812
        case .busy:
            evidence.window = .seconds(1)
            running(.milliseconds(600), waiting: .milliseconds(350))
        case .partlyRunning: evidence.runTime = .seconds(4)
        case .uninterruptible:
            evidence.state = "D"
            evidence.syscall = "74 0x7 0x0 0x0 0x0 0x0 0x0 0x7ffd39e8 0x7f2a9cf0f2ad"
            evidence.waitChannel = "folio_wait_writeback"
        case .stopped: evidence.state = "T"
        case .traced: evidence.tracer = 77
        case .frozen: evidence.isFrozen = true
        case .exited: evidence.state = "Z"
        case .unknown, .crashed, .killed, .failed: evidence = HangEvidence(processorCount: 2)
        }
        return evidence
    }

    private static func strain() -> Strain {
        var strain = Strain(window: .seconds(5))
        strain.majorFaults = 0
        strain.consumers = [
            .init(process: 900, name: "make", time: .milliseconds(4_800)),
            .init(process: 901, name: "cc1plus", time: .milliseconds(4_700)),
        ]
        return strain
    }

    private static func report(_ kind: Verdict.Kind) -> Report {
        var facts = Samples.facts(number: 20, evidence: evidence(kind))
        if kind == .blocked || kind == .spinning { observe(&facts, isMoving: kind == .spinning) }
        if kind == .starved {
            facts.credit = .milliseconds(8_500)
            facts.elapsed = .milliseconds(18_550)
        }
        return Report(of: facts, on: Samples.host, capture: Samples.capture)
    }

    private static var hang: Report {
        var facts = Samples.facts(number: 21)
        facts.kind = .hang
        facts.enforcement = .report
        facts.kill = .none
        facts.exitStatus = nil
        facts.elapsed = .milliseconds(3_250)
        facts.evidence.window = .milliseconds(3_250)
        facts.samples = samples(isMoving: false)
        facts.samplesBegan = .seconds(1)
        return Report(of: facts, on: Samples.host, capture: Samples.capture)
    }

    private static var deadlock: Report {
        var facts = Samples.facts(number: 22)
        let futex = "202 0x5581 0x80 0x2 0x0 0x0 0x0 0x7ffd39e8 0x7f2a9cf0f2ad"
        facts.evidence.syscall = futex
        facts.evidence.waits = [
            WaitDetails(
                process: 4242, thread: 4242, name: "hang-main", syscall: futex, subject: "mutex",
                holder: .init(relation: .holds, process: 4242, thread: 4243, name: "indexer", state: "S", priority: 20),
                isDeadlocked: true, sources: ["/proc/4242/task/4242/syscall"]),
            WaitDetails(
                process: 4242, thread: 4243, name: "indexer", syscall: futex, subject: "mutex",
                holder: .init(
                    relation: .holds, process: 4242, thread: 4242, name: "hang-main", state: "S", priority: 20),
                isDeadlocked: true, sources: ["/proc/4242/task/4243/syscall"]),
        ]
        var capture = Samples.capture
        capture.threads[1].name = "indexer"
        capture.threads[1].frames = [
            Frame(
                address: 0x7f2a_9cf0_f2ad, imageIndex: 1, imageOffset: 0x8f2ad, symbol: "__lll_lock_wait",
                symbolLocation: 29, trust: .registers),
            Frame(
                address: 0x5581_0000_4321, imageIndex: 0, imageOffset: 0x4321, symbol: "Index.update()",
                symbolLocation: 33, sourceFile: "/src/HangMain/Index.swift", sourceLine: 70, trust: .cfi),
        ]
        observe(&facts, isMoving: false)
        return Report(of: facts, on: Samples.host, capture: capture)
    }

    /// A server that does not answer, and a ping without an answer too.
    private static var peer: Report {
        var facts = Samples.facts(number: 23)
        facts.evidence.waits = [
            WaitDetails(
                process: 4242, thread: 4242, name: "hang-main", syscall: Samples.blocked.syscall ?? "",
                subject: "fd 7: TCP 127.0.0.1:51234 → 127.0.0.1:8080, ESTABLISHED, nothing received",
                peer: "127.0.0.1:8080",
                sources: ["/proc/4242/task/4242/syscall", "/proc/4242/net/tcp"])
        ]
        facts.extended = .seconds(2)
        facts.paused = .milliseconds(1_500)
        facts.elapsed = .milliseconds(13_550)
        observe(&facts, isMoving: false)
        return Report(of: facts, on: Samples.host, capture: Samples.capture)
    }

    /// A main thread that waits in futex(2) for a word of which nothing more is known.
    static func facts(number: Int, of name: String, in futex: String, at word: String) -> IncidentFacts {
        var facts = Samples.facts(number: number)
        facts.evidence.syscall = futex
        facts.evidence.waits = [
            WaitDetails(
                process: 4242, thread: 4242, name: name, syscall: futex, subject: "the futex at \(word)",
                sources: ["/proc/4242/task/4242/syscall"])
        ]
        return facts
    }

    /// No lock names its holder; a stack does.
    private static var python: Report {
        let futex = "202 0x5581 0x80 0x2 0x0 0x0 0x0 0x7ffd39e8 0x7f2a9cf0f2ad"
        let facts = facts(number: 24, of: "python3", in: futex, at: "0x5581")
        var capture = Samples.capture
        capture.threads[0].frames[1].symbol = "take_gil"
        capture.threads[0].frames[2].symbol = "PyEval_RestoreThread"
        capture.threads[1].name = "crunch"
        capture.threads[1].state = "R"
        capture.threads[1].frames = [
            Frame(
                address: 0x5581_0000_4321, imageIndex: 0, imageOffset: 0x4321, symbol: "_PyEval_EvalFrameDefault",
                symbolLocation: 33, trust: .registers)
        ]
        return Report(of: facts, on: Samples.host, capture: capture)
    }

    private static var tasks: Report {
        var facts = Samples.facts(.backgroundTask, .backgroundTask, allowance: .seconds(30), number: 25)
        facts.code = .backgroundTask
        facts.visibility = .background
        facts.watchdogVisibility = .background
        facts.lifecycle = LifecycleDetails(
            cause: "1 background task open after 30.00 s in the background: \"Saving library\" for 32.0 s",
            brief: "1 background task left open",
            openTasks: [.init(name: "Saving library", ageNanoseconds: 32_000_000_000)], openTaskCount: 1,
            lockedFiles: [.init(path: "/var/db", kind: "SQLite", isExclusive: true, pid: 4_242)],
            history: [
                .init(state: "launching", nanoseconds: 0), .init(state: "foreground", nanoseconds: 412_000_000),
                .init(state: "background", nanoseconds: 5_000_000_000),
            ],
            mistakes: .init(
                statesOutOfOrder: 1, unknownStates: 0, unknownEvents: 2, unknownTasks: 0, repeatedTasks: 0),
            resumeCount: 2, slowestResumeNanoseconds: 31_000_000)
        return Report(of: facts, on: Samples.host, capture: Samples.capture)
    }

    /// Samples from a second after an unanswered ping on.
    private static func observe(_ facts: inout IncidentFacts, isMoving: Bool) {
        facts.samples = samples(isMoving: isMoving)
        facts.samples?.interval = (facts.elapsed - .milliseconds(1_050)) / 9
        facts.samplesBegan = .seconds(1)
        facts.pings = PingSummary(
            sent: 12, answered: 11, sinceLastAnswerNanoseconds: facts.elapsed.nanoseconds + 900_000_000,
            sinceLastPingNanoseconds: facts.elapsed.nanoseconds, slowestNanoseconds: 4_100_000)
    }

    /// Ten samples with the stack of ``Samples/capture``, or the first with a different one.
    package static func samples(isMoving: Bool) -> ProcessSamples {
        let main = Samples.capture.threads[0]
        var stacks = [
            ProcessSamples.Stack(
                state: isMoving ? "R" : "S", syscall: isMoving ? "running" : main.syscall, frames: main.frames)
        ]
        if isMoving {
            var other = main.frames
            other[0].address += 4
            other[0].symbol = "parse"
            stacks.append(ProcessSamples.Stack(state: "R", syscall: "running", frames: other))
        }
        var samples = ProcessSamples(
            process: 4242, name: "HangMain", path: "/usr/bin/hang-main", time: Samples.captureTime,
            interval: .milliseconds(100), duration: .milliseconds(900), sampleCount: 10, stacks: stacks,
            images: Samples.capture.images)
        samples.threads = [
            .init(
                id: 4242, name: "hang-main",
                runs: isMoving
                    ? [.init(first: 0, count: 4, stack: 1), .init(first: 4, count: 6, stack: 0)]
                    : [.init(first: 0, count: 10, stack: 0)])
        ]
        return samples
    }
}
