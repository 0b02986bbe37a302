// SPDX-License-Identifier: Apache-2.0

import Glibc
import ReportFixtures
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("Signatures")
struct SignatureTests {
    @Test("A signature names app, event, cause and the app's innermost calls, without libc's")
    func parts() {
        let signature = Signature(of: Samples.report())
        #expect(signature.app == "HangMain")
        #expect(signature.event == "scene-update")
        #expect(signature.cause == "blocked in recvfrom")
        #expect(
            signature.frames == ["Socket.receive()", "closure #1 in Worker.run(depth:)", "hang-main + 0x2000"])
        #expect(signature.id.count == 8)
    }

    @Test("A signature does not depend on pids, thread numbers, addresses, registers and other threads")
    func stability() {
        let signature = Signature(of: Samples.report())
        let seed = testSeed
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            var facts = Samples.facts()
            let pid = Int.random(in: 2...4_000_000, using: &generator)
            facts.pid = pid
            var capture = Samples.capture
            capture.threads[0].id = pid
            for name in capture.threads[0].registers.keys.sorted() {
                capture.threads[0].registers[name] = UInt64.random(in: 0 ... .max, using: &generator)
            }
            for index in capture.images.indices {
                capture.images[index].base = .random(in: 1...0x7fff_ffff_f000, using: &generator)
            }
            // Another C library inlines differently.
            let libc = capture.threads[0].frames[0]
            for _ in 0..<Int.random(in: 0...3, using: &generator) {
                var frame = libc
                frame.isInlined = .random(using: &generator)
                frame.symbol = "__libc_\(Int.random(in: 0...9, using: &generator))"
                capture.threads[0].frames.insert(frame, at: 0)
            }
            capture.threads[1].id = pid + 1
            if Bool.random(using: &generator) { capture.threads.removeLast() }
            #expect(
                Signature(of: Samples.report(facts, capture: capture)) == signature, "WATCHDOGD_TEST_SEED=\(seed)")
        }
    }

    @Test("A different function, cause, event or app yields a different signature")
    func differences() {
        var signatures: Set<String> = []
        for (_, report) in Samples.goldens { signatures.insert(Signature(of: report).id) }
        #expect(signatures.count == Samples.goldens.count)
        var report = Samples.report()
        report.body.threads[0].frames[1].symbol = "Socket.send()"
        #expect(Signature(of: report) != Signature(of: Samples.report()))
    }

    /// The sample, spinning at some place of a function without a name below two that have names.
    private func spinning(at offset: UInt64) -> Report {
        var report = Samples.report()
        var frames = report.body.threads[0].frames
        frames[0] = frames[3]
        frames[0].imageOffset = offset
        frames.insert(frames[3], at: 1)
        report.body.threads[0].frames = frames
        return report
    }

    @Test("Where a loop without a name was interrupted does not matter; its callers do")
    func interruptedLoop() {
        let signature = Signature(of: spinning(at: 0x3001))
        #expect(signature == Signature(of: spinning(at: 0x3777)))
        #expect(signature.frames.first == "hang-main + 0x2000", "its caller")
        var other = spinning(at: 0x3001)
        other.body.threads[0].frames[1].imageOffset = 0x4000
        #expect(Signature(of: other) != signature)
    }

    @Test("Calls without names are folded in a group and in an explanation, the app's named ones shown")
    func folded() {
        let report = spinning(at: 0x3001)
        let lines = ReportGroup.text(ReportGroup.grouping([report])).split(separator: "\n")
        #expect(lines.last == "       2 calls without names < Socket.receive() < closure #1 in Worker.run(depth:)")
        let text = Explanation(of: report).text
        #expect(text.contains("\nIn         2 calls without names, called by\n           Socket.receive() ("))
        #expect(!text.contains("0x3001"))
        let page = HTMLRenderer.render(report)
        #expect(page.contains("in 2 calls without names from <code class=\"own\">Socket.receive()</code>"))
        #expect(ReportGroup.text(ReportGroup.grouping([Samples.report()])).contains("Socket.receive() < closure"))
    }

    @Test("A foreign report is identified by its exception")
    func foreign() throws {
        let signature = Signature(of: try ReportCoding.decode(Array(ForeignSample.ips.utf8)))
        #expect(signature.cause == "EXC_BREAKPOINT (SIGTRAP)")
        #expect(signature.frames == ["Notes.crash()", "Notes + 0x2000"])
    }

    @Test(
        "One sleep is one cause, whether the call, the kernel's function or only the stack shows it",
        arguments: [
            ("blocked in clock_nanosleep", "clock_nanosleep"), ("blocked in nanosleep", "sleep"),
            ("blocked at hrtimer_nanosleep", "clock_nanosleep"), ("blocked", "__GI___clock_nanosleep"),
            ("blocked in restart_syscall", "clock_nanosleep@@GLIBC_2.17"),
            ("blocked at do_nanosleep.constprop.0", "main"),
        ])
    func evidence(brief: String, function: String) {
        var report = Samples.report()
        report.body.linux?.verdict.brief = brief
        report.body.linux?.threads[0].syscall = nil
        report.body.linux?.threads[0].waitChannel = nil
        report.body.threads[0].frames[0].symbol = function
        #expect(Signature(of: report).cause == "blocked in clock_nanosleep")
    }

    @Test("A wait without a name keeps the verdict's words, and different causes stay different")
    func otherEvidence() {
        func cause(_ brief: String) -> String {
            var report = Samples.report()
            report.body.linux?.verdict.brief = brief
            report.body.linux?.threads[0].syscall = nil
            report.body.linux?.threads[0].waitChannel = nil
            report.body.threads[0].frames[0].symbol = "unknown"
            return Signature(of: report).cause
        }
        #expect(cause("blocked") == "blocked")
        #expect(cause("blocked at some_driver_wait") == "blocked at some_driver_wait")
        #expect(cause("blocked in recvfrom") == "blocked in recvfrom")
        #expect(cause("deadlock in futex") == "deadlock in futex")
        #expect(cause("blocked at futex_wait_queue") == "blocked in futex")
    }

    @Test("Groups count reports with one signature, the most frequent first")
    func groups() throws {
        var second = Samples.facts(number: 8)
        second.captureTime.seconds += 60
        second.pid = 9
        let reports = [Samples.report(), Samples.goldens[1].report, Samples.report(second)]
        let culprits = reports.map { Explanation(of: $0).culprit }
        #expect(culprits[0]?.hasPrefix("Main thread waits for data from a socket in ") == true)
        #expect(
            ReportGroup.text(ReportGroup.grouping(reports)) == """
                COUNT  FIRST (UTC)       LAST              NEWEST    SIGNATURE
                    2  2026-11-21 00:20  2026-11-21 00:21  00000000  \(Signature(of: reports[0]).id)
                       HangMain · did not answer · \(culprits[0] ?? "") · blocked in recvfrom
                       Socket.receive() < closure #1 in Worker.run(depth:) < hang-main + 0x2000
                    1  2026-11-21 00:20  2026-11-21 00:20  00000000  \(Signature(of: reports[1]).id)
                       HangMain · not ready · \(culprits[1] ?? "") · starved
                       Socket.receive() < closure #1 in Worker.run(depth:) < hang-main + 0x2000

                """)
        var counting = reports[0]
        counting.body.linux?.repeats = RepeatDetails(count: 12, last: "2026-11-21 03:04:05.0000 +0000")
        let group = try #require(ReportGroup.grouping([counting, reports[2]]).first)
        #expect(group.count == 14)
        #expect(group.last.text(fractionDigits: 0) == "2026-11-21 03:04:05 +0000")
        #expect(ReportGroup.text([]) == "No reports.\n")
        #expect(ReportGroup.json([]) == "[\n\n]\n")
    }
}
