// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing
import WatchdogBase
import WatchdogPolicy

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("Faults of processes other than the main one")
struct ProcessFaultTests {
    /// A wrapper in pause(2), whose child is in openat(2).
    private func report(
        _ missed: MissedDetails? = nil, state: Character = "S", subject: String = "/run/fifo", loop: Bool = false
    ) -> Report {
        let call = loop ? "281 0x4 0x1 0x1 0x1 0x0 0x8 0x7ffe 0x7f00" : "34 0x1 0x1 0x1 0x1 0x1 0x1 0x7ffe 0x7f00"
        let openat = "257 0xffffff9c 0x1 0x0 0x0 0x0 0x0 0x7ffe 0x7f00"
        func frames(_ names: [String]) -> [Frame] {
            names.enumerated().map { index, name in
                Frame(
                    address: 1, imageIndex: index == 0 ? 1 : 0, imageOffset: 1, symbol: name, symbolLocation: 0,
                    trust: .cfi)
            }
        }
        var capture = Samples.capture
        capture.threads = [
            CapturedThread(
                id: 4242, name: "wrapper", state: "S", syscall: call,
                frames: frames(loop ? ["epoll_wait", "uv_run", "main"] : ["pause", "main"]))
        ]
        var child = OtherProcess(pid: 4250, parentPID: 4242, name: "feeder", state: state)
        child.waits = [
            WaitDetails(process: 4250, thread: 4250, name: "feeder", syscall: openat, subject: subject, sources: [])
        ]
        var stacks = capture
        stacks.threads = [
            CapturedThread(
                id: 4250, name: "feeder", state: String(state), syscall: openat, frames: frames(["open", "open_feed"]))
        ]
        child.capture = stacks
        var facts = Samples.facts(
            evidence: HangEvidence(
                window: .seconds(10), runTime: .zero, runDelay: .zero, state: "S", syscall: call, tracer: 0,
                isFrozen: false, processorCount: 2))
        facts.others = [child]
        facts.missed = missed
        return Samples.report(facts, capture: capture)
    }

    @Test("The verdict, the headline and the fault name the child, and its stack is expanded")
    func named() throws {
        let report = report()
        let explanation = Explanation(of: report)
        #expect(
            report.body.linux?.verdict.line
                == "Main thread blocked 10.00 s in pause; process 4250 \"feeder\" is blocked in openat (/run/fifo), "
                + "from open_feed · 0.0 % running, 0.0 % waiting for CPU")
        #expect(report.body.linux?.verdict.brief == "blocked in pause")
        #expect(explanation.blame?.party == .app)
        let reason =
            "process 4250 \"feeder\" is blocked in openat (/run/fifo), from open_feed, while the main thread waits for signals"
        #expect(explanation.blame?.reason == reason)
        #expect(explanation.headline == "P" + reason.dropFirst())
        #expect(explanation.advice.contains("look at the stack of the process that is named"))
        #expect(report.body.linux?.waitingProcesses.map(\.pid) == [4250])
        #expect(report.body.linux?.findings?.last?.processes == [4250])
        #expect(try ReportCoding.decode(ReportCoding.encode(report)) == report)
    }

    @Test("A stopped child is somebody else's fault; a device or a file system that does not answer is the machine's")
    func parties() {
        let stopped = Explanation(of: report(state: "T"))
        #expect(stopped.blame?.party == .somebodyElse)
        #expect(stopped.blame?.reason.hasPrefix("process 4250 \"feeder\" is stopped, while") == true)
        #expect(stopped.advice.contains("SIGCONT"))
        let sleeping = Explanation(of: report(state: "D"))
        #expect(sleeping.blame?.party == .machine)
        #expect(sleeping.advice.contains("/proc/mounts"))
        #expect(Blame(for: report(subject: "/mnt/a on nfs4 at /mnt")).party == .machine)
    }

    @Test("A stuck child explains a missed launch or probe, except one that fails immediately beside a loop")
    func missed() {
        let refused = MissedDetails(.probe, of: "tcp:localhost:7999", failure: "connection refused", count: 3)
        let silent = MissedDetails(.probe, of: "tcp:localhost:6379", count: 3)
        for missed in [refused, silent, MissedDetails(.readiness, of: "READY=1")] {
            #expect(Blame(for: report(missed)).party == .app)
        }
        #expect(Blame(for: report(silent, loop: true)).reason.contains("\"feeder\""))
        let wrong = Blame(for: report(refused, loop: true))
        #expect(wrong.party == .unknown)
        #expect(!wrong.reason.contains("\"feeder\""))
    }
}
