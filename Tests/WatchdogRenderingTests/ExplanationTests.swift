// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ReportFixtures
import Testing
import WatchdogBase
import WatchdogPolicy

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("Explanations")
struct ExplanationTests {
    private func report(_ evidence: HangEvidence) -> Report { Samples.report(Samples.facts(evidence: evidence)) }

    private func evidence(running: Int = 0, waiting: Int = 0, state: Character = "S", call: Int? = nil) -> HangEvidence
    {
        HangEvidence(
            window: .seconds(10), runTime: .milliseconds(running * 100), runDelay: .milliseconds(waiting * 100),
            state: state, syscall: call.map { "\($0) 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x1" }, tracer: 0, isFrozen: false,
            processorCount: 2)
    }

    @Test("Blame requires evidence")
    func blame() {
        #expect(Blame(for: report(evidence())).party == .app)
        #expect(Blame(for: report(evidence(running: 98, state: "R"))).party == .app)
        #expect(Blame(for: report(evidence(running: 9, waiting: 91, state: "R"))).party == .machine)
        #expect(Blame(for: report(evidence(running: 55, waiting: 45, state: "R"))).party == .app)
        #expect(Blame(for: report(evidence(state: "D"))).party == .machine)
        #expect(Blame(for: report(evidence(state: "T"))).party == .somebodyElse)
        #expect(Blame(for: report(evidence(state: "t"))).party == .somebodyElse)
        var frozen = evidence()
        frozen.isFrozen = true
        #expect(Blame(for: report(frozen)).party == .somebodyElse)
        #expect(Blame(for: report(HangEvidence(processorCount: 2))).party == .unknown)
    }

    @Test("A wait for the process's memory map, or for a child that starts a program, is not a device's fault")
    func noDevice() {
        var map = evidence(state: "D", call: 11)
        map.waitChannel = "__vm_munmap"
        #expect(Blame(for: report(map)).party == .unknown)
        #expect(Explanation(of: report(map)).advice.contains("lock of the process's memory map"))
        map.waitChannel = "folio_wait_bit_common"
        #expect(Blame(for: report(map)).party == .machine)
        map.waitChannel = "percpu_rwsem_wait"
        #expect(Blame(for: report(map)).party == .somebodyElse)
        #expect(Explanation(of: report(map)).advice.contains("fsfreeze --unfreeze"))
        map.syscall = "57 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x1"
        #expect(Blame(for: report(map)).party == .machine)
        #expect(Blame(for: report(evidence(state: "D", call: 58))).party == .app)
    }

    @Test("A remote file system that does not answer is not the app's fault; a lock on it may be")
    func servedFileSystem() {
        func blame(_ subject: String, _ holder: WaitDetails.Holder? = nil, state: Character = "S") -> Blame {
            var facts = Samples.facts(evidence: evidence(state: state, call: 4))
            facts.evidence.waits = [
                WaitDetails(
                    process: 4242, thread: 4242, name: "hang-main", syscall: facts.evidence.syscall ?? "",
                    subject: subject, holder: holder, sources: [])
            ]
            return Blame(for: Samples.report(facts))
        }
        #expect(blame("/mnt/a on nfs4 at /mnt").party == .machine)
        #expect(blame("/mnt/a on fuse.sshfs at /mnt").reason == "the file system (fuse.sshfs at /mnt) did not answer")
        #expect(blame("/var/lib/a").party == .app)
        #expect(blame("/mnt/a on nfs4 at /mnt", state: "D").reason == "the file system (nfs4 at /mnt) did not answer")
        #expect(blame("/var/lib/a", state: "D").reason.contains("where no signal reaches it"))
        let holder = WaitDetails.Holder(relation: .locks, process: 4244, name: "other", state: "S")
        #expect(blame("fd 4: /mnt/a on nfs4 at /mnt", holder).party == .app)
    }

    @Test("A capture on request has no event, no allowance and no blame")
    func capture() {
        var facts = Samples.facts(.sceneUpdate, .requested, allowance: .zero, evidence: evidence(call: 232))
        facts.kind = .capture
        facts.enforcement = .report
        facts.kill = .none
        facts.exitStatus = nil
        let report = Samples.report(facts)
        let text = Explanation(of: report).text
        #expect(text.hasPrefix("HangMain[4242] · capture · "))
        #expect(!text.contains("Fault") && !text.contains("Allowance") && !text.contains("scene-update"))
        #expect(text.contains("The stacks were requested"))
        let page = HTMLRenderer.render(report)
        #expect(!page.contains("Fault") && !page.contains("Allowance"))
        for words in ["Exception", "EXC_CRASH", "<dt>Kill", "<dt>Elapsed", "rashed", "SIGKILL"] {
            #expect(!page.contains(words), "\(words)")
        }
        #expect(page.contains("<div><dt>Capture</dt>\n<dd>the stacks were requested; the process continues</dd>"))
        facts.kind = .hang
        let hang = HTMLRenderer.render(Samples.report(facts))
        #expect(hang.contains("<dt>Exception</dt>\n<dd>EXC_CRASH (SIGKILL), simulated: this is not a crash</dd>"))
        #expect(Signature(of: report).event == "capture")
    }

    @Test("An app whose own workers take the CPUs starves itself")
    func ownStarvation() {
        var facts = Samples.facts(evidence: evidence(running: 20, waiting: 80, state: "R"))
        facts.cpu?.application = .seconds(7)
        #expect(Blame(for: Samples.report(facts)).party == .app)
        facts.cpu?.application = .seconds(2)
        #expect(Blame(for: Samples.report(facts)).party == .appAndMachine)
    }

    @Test("CPU time of an app's children counts as its own from half of the total on")
    func ownChildren() {
        func blame(_ own: Duration) -> Blame {
            var evidence = evidence(running: 5, waiting: 95, state: "R")
            evidence.strain = Strain(window: .seconds(5))
            evidence.strain?.processorTime = .init(total: .seconds(10), own: own)
            return Blame(for: report(evidence))
        }
        #expect(blame(.seconds(5)).party == .app)
        #expect(
            blame(.seconds(9)).reason
                == "its own processes took 90 % of the CPU time that its main thread waited for")
        #expect(blame(.milliseconds(4_999)).party == .machine)
    }

    @Test("A main thread that never slept and ran for a second shares the fault with the machine; less does not")
    func computesUnderLoad() {
        func blame(_ run: Duration, _ delay: Duration, throttled: Duration = .zero) -> Blame {
            var evidence = evidence(state: "R")
            evidence.runTime = run
            evidence.runDelay = delay
            evidence.strain = Strain(window: .seconds(5))
            evidence.strain?.throttled = throttled
            return Blame(for: report(evidence))
        }
        #expect(blame(.seconds(1), .seconds(9)).party == .appAndMachine)
        #expect(blame(.seconds(1), .milliseconds(8_900)).party == .appAndMachine)
        #expect(blame(.seconds(1), .milliseconds(8_899)).party == .machine)
        #expect(blame(.milliseconds(999), .seconds(9)).party == .machine)
        #expect(
            blame(.milliseconds(1_200), .milliseconds(8_800)).reason
                == "the main thread never slept and ran for 1.20 s without coming back, while others had the CPUs")
        #expect(blame(.seconds(2), .seconds(8), throttled: .seconds(4)).party == .appAndMachine)
        #expect(blame(.milliseconds(999), .seconds(9), throttled: .seconds(4)).party == .machine)
    }

    @Test("Under an allowance of less than a second, running for all of it is enough")
    func computesForItsAllowance() {
        func party(_ run: Duration) -> Blame.Party {
            var evidence = evidence(state: "R")
            evidence.runTime = run
            evidence.runDelay = .seconds(2)
            evidence.window = .milliseconds(2_700)
            evidence.strain = Strain(window: .seconds(5))
            var facts = Samples.facts(evidence: evidence)
            facts.allowance = .milliseconds(700)
            return Blame(for: Samples.report(facts)).party
        }
        #expect(party(.milliseconds(700)) == .appAndMachine)
        #expect(party(.milliseconds(699)) == .machine)
    }

    @Test("Busy is the app's fault, and the machine's too if it waited longer for a CPU than it ran")
    func busy() {
        #expect(Blame(for: report(evidence(running: 48, waiting: 48, state: "R"))).party == .app)
        #expect(Blame(for: report(evidence(running: 47, waiting: 48, state: "R"))).party == .appAndMachine)
    }

    @Test(
        "The advice fits the call",
        arguments: [(202, "lock"), (45, "peer"), (7, "descriptors"), (73, "LOCK_NB"), (61, "child")])
    func advice(call: Int, word: String) {
        var capture = Samples.capture
        capture.threads[0].syscall = "\(call) 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x1"
        let report = Samples.report(Samples.facts(evidence: evidence(call: call)), capture: capture)
        #expect(Explanation(of: report).advice.contains(word))
    }

    @Test("The text has at most 28 lines of 79 columns, whatever the app's text, and no terminal controls")
    func size() {
        let long = String(repeating: "\u{1b}[2J veryLongWord", count: 300)
        for (_, report) in Samples.goldens {
            var report = report
            report.metadata.appName = long
            report.body.captureTime = long
            report.body.linux?.verdict.line = long
            report.body.linux?.notes = Array(repeating: long, count: 40)
            report.body.threads[0].name = long
            for index in report.body.threads[0].frames.indices { report.body.threads[0].frames[index].symbol = long }
            let lines = Explanation(of: report).text.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count <= 29)
            #expect(lines.allSatisfy { $0.count < 80 })
            #expect(lines.joined().unicodeScalars.allSatisfy { $0.value >= 0x20 })
            let difference = ReportComparison(report, Samples.report()).text.split(separator: "\n")
            #expect(difference.allSatisfy { $0.count < 80 })
        }
    }

    @Test("A verdict of three lines is not cut, nor a note of two")
    func room() {
        var report = Samples.report()
        report.body.linux?.verdict.line =
            "Main thread blocked 1.42 s in epoll_wait (fd 6: epoll of 3 fds: 7 (TCP 0.0.0.0:17801, LISTEN, no connection "
            + "to accept), 8 (TCP [::]:17801, ...) · 0.1 % running, 5.2 % waiting for CPU"
        report.body.linux?.notes = ["the names were added later, after the report had been written without them all"]
        let text = Explanation(of: report).text
        #expect(text.contains("\n% running, 5.2 % waiting for CPU\n"))
        #expect(text.contains("\n           without them all.\n"))
    }

    @Test("Differences name events in words, and have no allowance of a crash")
    func differences() {
        let crash = Crashes.report(Crashes.details(.exited(code: 3)), capture: nil)
        let comparison = ReportComparison(crash, Samples.report())
        #expect(comparison.text.contains("\n+ HangMain · did not answer · "))
        #expect(comparison.text.contains("\n  event: crash -> did not answer\n"))
        #expect(comparison.verdict.first { $0.what == "allowance" }?.from == nil)
        #expect(comparison.json.contains("scene-update"), "programs get the names of Apple's")
    }

    @Test("A thread that the verdict names precedes others")
    func named() {
        var report = Samples.report()
        report.body.linux?.verdict.line = "Main thread blocked 10 s in futex (held by thread 4243)"
        let others = Explanation(of: report).others
        #expect(others.map(\.index) == [1])
        #expect(others.map { $0.isNamed } == [true])
    }

    @Test("The app's calls without names are counted, and shown only if none has a name")
    func unnamed() {
        var capture = Samples.capture
        var stripped = capture.threads[0].frames[1]
        stripped.symbol = nil
        stripped.isInlined = false
        capture.threads[0].frames.insert(contentsOf: [stripped, stripped], at: 1)
        let some = Explanation(of: Samples.report(capture: capture))
        #expect(some.unnamedCount == 2 && some.calls.first?.function == "Socket.receive()")
        #expect(some.text.contains("\nFrom       2 calls without names, then\n           Socket.receive()"))
        for index in 1...5 { capture.threads[0].frames[index].symbol = nil }
        let none = Explanation(of: Samples.report(capture: capture))
        #expect(none.unnamedCount == 0 && none.calls.count == 4)
    }

    @Test("A report compared with itself has the same signature, no change and one common stack")
    func same() {
        let colored = ReportComparison(Samples.goldens[0].report, Samples.report())
        let text = colored.text(in: TextStyle(isColored: true))
        #expect(text.contains("\u{1b}[32m") && text.replacing(#/\u{1b}\[[0-9;]*m/#, with: "") == colored.text)
        let comparison = ReportComparison(Samples.report(), Samples.report())
        #expect(comparison.isSameSignature)
        #expect(comparison.facts + comparison.verdict + comparison.images == [])
        #expect(comparison.stack.map(\.side) == [.both])
        #expect(comparison.onlyBefore + comparison.onlyAfter == [])
    }

    @Test("The JSON of explanation, comparison and MetricKit's payload has only integers")
    func json() {
        for (_, report) in Samples.goldens {
            let texts = [
                Explanation(of: report).json, ReportComparison(report, Samples.report()).json,
                MetricKitPayload(report).json,
            ]
            #expect(texts.map { JSONFault.first(in: Array($0.utf8)) } == [nil, nil, nil])
        }
    }
}
