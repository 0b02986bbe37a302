// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing
import WatchdogPolicy

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("Explanations of main threads that wait")
struct MissedTests {
    private static let epoll = 281
    private static let poll = 7
    private static let sleep = 230
    private static let accept = 43
    private static let wait = 61

    /// A report whose main thread is in a system call below these functions, the first of which is libc's.
    private func report(
        _ missed: MissedDetails?, call: Int, _ functions: [String] = ["clock_nanosleep", "migrateDatabase()", "main"],
        event: WatchdogEvent = .processLaunch, worker: (state: String, function: String)? = nil
    ) -> Report {
        let text = "\(call) 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x1"
        var capture = Samples.capture
        capture.threads[0].syscall = text
        capture.threads[0].frames = functions.enumerated().map { index, name in
            Frame(
                address: 1, imageIndex: index == 0 ? 1 : 0, imageOffset: 1, symbol: name, symbolLocation: 0,
                trust: .cfi)
        }
        if let worker {
            capture.threads[1].name = "worker"
            capture.threads[1].state = worker.state
            capture.threads[1].runNanoseconds = 9_000_000_000
            capture.threads[1].syscall = worker.state == "R" ? "running" : "45 0x7 0x1 0x1 0x1 0x1 0x1 0x1 0x1"
            capture.threads[1].frames = [
                Frame(
                    address: 1, imageIndex: 0, imageOffset: 1, symbol: worker.function, symbolLocation: 0, trust: .cfi)
            ]
        }
        let evidence = HangEvidence(
            window: .seconds(10), runTime: .zero, runDelay: .zero, state: "S", syscall: text, tracer: 0,
            isFrozen: false, processorCount: 2)
        var facts = Samples.facts(event, evidence: evidence)
        facts.missed = missed
        return Samples.report(facts, capture: capture)
    }

    private static let loop = ["epoll_wait", "uv_run", "main"]
    private static let refused = MissedDetails(
        .probe, of: "tcp:localhost:7999", failure: "connection refused", count: 3)
    private static let silent = MissedDetails(.probe, of: "tcp:localhost:6379", count: 3)
    private static let readiness = MissedDetails(.readiness, of: "listen:4567")

    @Test("The missed probe or event comes first")
    func missed() {
        let probed = Explanation(of: report(Self.refused, call: Self.sleep)).text
        #expect(probed.contains("\nFailed     probe tcp:localhost:7999: connection refused (3 in a row)\nAllowance  "))
        let awaited = Explanation(of: report(Self.readiness, call: Self.sleep)).text
        #expect(awaited.contains("\nWaited for listen:4567\nAllowance  "))
        let silent = MissedDetails(.probe, of: "http://a:secret@h/", count: 1)
        #expect(silent.words == "probe http://<redacted>@h/: no answer")
    }

    @Test(
        "A loop's wait does not cause a refused connection, nor a missing readiness",
        arguments: [
            (refused, "Probe= means that address"),
            (readiness, "Readiness= means that address"),
            (MissedDetails(.readiness, of: "exec:test -e /run/x"), "Run the command of Readiness= by hand"),
            (MissedDetails(.readiness, of: "READY=1"), "whether the program sends READY=1"),
        ])
    func idle(missed: MissedDetails, advice: String) {
        let idle = Explanation(of: report(missed, call: Self.epoll, Self.loop))
        #expect(idle.advice.contains(advice))
        #expect(!idle.advice.contains("first screen"))
        #expect(idle.blame?.party == .unknown)
        #expect(idle.blame?.reason.contains("waits in its loop") == true)
        let busy = Explanation(of: report(missed, call: Self.wait, ["wait4", "runHook", "main"]))
        #expect(busy.advice.contains("child"))
        #expect(busy.blame?.party == .app)
    }

    @Test(
        "A launch that sleeps or polls in its own code is the app's fault",
        arguments: [
            (sleep, ["clock_nanosleep", "migrateDatabase()", "main"]), (poll, ["poll", "download_feed", "main"]),
        ])
    func launch(call: Int, functions: [String]) {
        for missed in [Self.readiness, MissedDetails(.readiness, of: "READY=1"), nil] {
            let blame = Blame(for: report(missed, call: call, functions))
            #expect(blame.party == .app)
            #expect(blame.reason == "its own code made the call that blocks")
        }
    }

    @Test("A sleep in the app's own code explains an unanswered probe, and not a refused one")
    func asleep() {
        let asleep = Explanation(of: report(Self.silent, call: Self.sleep))
        #expect(asleep.advice.contains("sleeps on purpose"))
        #expect(asleep.blame?.party == .app)
        let refused = Explanation(of: report(Self.refused, call: Self.sleep))
        #expect(refused.blame?.party == .unknown)
        #expect(refused.advice.hasPrefix("The main thread only sleeps"))
    }

    @Test("An unanswered probe beside an idle loop is not attributed to the main thread")
    func elsewhere() {
        for (call, functions) in [(Self.epoll, Self.loop), (Self.accept, ["accept", "main"])] {
            let explanation = Explanation(of: report(Self.silent, call: call, functions, event: .sceneUpdate))
            #expect(explanation.blame?.party == .unknown)
            #expect(
                explanation.blame?.reason
                    == "its main thread waits in its loop; the request may be stuck in a worker process or thread")
            #expect(!explanation.text.contains("its own code made"))
        }
    }

    @Test("A worker that computes or is blocked beside an idle loop is the app's fault, and is named")
    func worker() {
        for (worker, deed) in [(("R", "crunch()"), "computes"), (("S", "fetch()"), "sleeps in recvfrom")] {
            for missed in [Self.silent, nil] {
                let explanation = Explanation(
                    of: report(missed, call: Self.epoll, Self.loop, event: .sceneUpdate, worker: worker))
                #expect(explanation.blame?.party == .app)
                #expect(
                    explanation.blame?.reason
                        == "thread 4243 \"worker\" \(deed), from \(worker.1), while the main thread waits in its loop")
                #expect(explanation.others.map(\.index) == [1])
                #expect(explanation.others.map { $0.isNamed } == [true])
                #expect(explanation.advice.contains("look at the stack of the thread that is named"))
            }
        }
        let launch = report(Self.readiness, call: Self.epoll, Self.loop, worker: ("S", "fetch()"))
        #expect(Blame(for: launch).party == .unknown)
    }

    @Test("A loop that no ping woke is the app's, and not in a call that its own code made")
    func ping() {
        let blame = Blame(for: report(nil, call: Self.epoll, Self.loop, event: .sceneUpdate))
        #expect(blame.party == .app)
        #expect(blame.reason == "its main thread waits in its loop, and nothing in the app woke it to answer")
    }
}
