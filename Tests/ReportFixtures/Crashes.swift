// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
package import WatchdogPolicy
package import WatchdogReport
package import WatchdogVerdict

/// Invented unexpected exits, one for each source of stacks, or without any.
package enum Crashes {
    package static let all: [(name: String, report: Report)] = [
        ("crash-core", report(segmentation, capture: capture(.core), number: 30)),
        ("crash-journal", report(abort, capture: capture(.journal), number: 31)),
        ("crash-memory", report(memory, capture: nil, number: 32)),
        ("crash-exit", report(exit, capture: nil, number: 33)),
    ]

    /// A null pointer with an offset, in a thread other than the first.
    package static var segmentation: CrashDetails {
        var crash = details(.signaled(signal: 11, coreDumped: true))
        crash.note(SignalInfo(signal: 11, code: 1, union: 0x18))
        crash.thread = 4243
        crash.stackSource = .core
        crash.stacks = "from the core file /srv/photos/core.4242"
        return crash
    }

    package static var abort: CrashDetails {
        var crash = details(.signaled(signal: 6, coreDumped: true))
        crash.thread = 4242
        crash.stackSource = .journal
        crash.stacks = "from systemd-coredump's entry in the journal"
        return crash
    }

    package static var memory: CrashDetails {
        var crash = details(.signaled(signal: 9, coreDumped: false))
        crash.memoryKills = 1
        crash.recentMemoryKills = 1
        crash.stacks = "none: SIGKILL leaves no core"
        return crash
    }

    package static var exit: CrashDetails {
        details(.exited(code: 3), stacks: "none: it exited by itself, with code 3")
    }

    package static func details(
        _ status: ExitStatus, cause: Outcome.Cause = .exited, stacks: String = "none: nobody looked for them"
    ) -> CrashDetails {
        let outcome = Outcome(cause: cause, status: status, isDeathVerified: true)
        guard let crash = Crash(outcome, reporting: .all) else { preconditionFailure("\(status) is a crash") }
        return CrashDetails(crash, stacks: stacks)
    }

    package static func facts(_ crash: CrashDetails, number: Int = 30) -> IncidentFacts {
        var facts = Samples.facts(
            .sceneUpdate, .ended, allowance: .zero, number: number, evidence: HangEvidence(processorCount: 2))
        facts.kind = .crash
        facts.elapsed = .milliseconds(21_620)
        facts.cpu = nil
        facts.kill = .none
        facts.exitStatus = nil
        facts.crash = crash
        facts.log = LogDetails(source: .file, lines: [LogDetails.Line(text: "importing album 12 of 12")])
        return facts
    }

    package static func report(_ crash: CrashDetails, capture: CapturedProcess?, number: Int = 30) -> Report {
        Report(of: facts(crash, number: number), on: Samples.host, capture: capture)
    }

    /// The main thread as in ``Samples/capture``, and a worker that hits unmapped memory.
    package static func capture(_ method: CapturedProcess.Method) -> CapturedProcess {
        var capture = Samples.capture
        capture.method = method
        capture.frozenNanoseconds = 0
        capture.notes = []
        for index in capture.threads.indices {
            capture.threads[index].state = "?"
            capture.threads[index].waitChannel = nil
            capture.threads[index].syscall = nil
            capture.threads[index].kernelStack = []
            if method == .journal { capture.threads[index].registers = [:] }
        }
        capture.threads[1].asynchronousFrames = []
        capture.threads[1].frames = [
            Frame(
                address: 0x7f2a_9cf8_0f3d, imageIndex: 1, imageOffset: 0x180f3d, symbol: "__memmove_avx_unaligned_erms",
                symbolLocation: 125, trust: .registers),
            Frame(
                address: 0x5581_0000_3100, imageIndex: 0, imageOffset: 0x3100, symbol: "parse_header",
                symbolLocation: 64, sourceFile: "/src/HangMain/parse.c", sourceLine: 12, trust: .cfi),
        ]
        return capture
    }
}
