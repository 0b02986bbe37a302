// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing
import WatchdogBase

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("Deadlocks as text")
struct DeadlockTests {
    private let report: Report

    init() throws { report = try #require(Causes.all.first { $0.name == "deadlock" }?.report) }

    private func stored(_ report: Report) -> StoredReport {
        StoredReport(
            name: "a.ips", path: "/r/a.ips", size: 1, modified: Samples.captureTime, metadata: report.metadata,
            fault: nil, isInStore: true)
    }

    @Test("A list names a deadlock, and finds it among blocked incidents")
    func list() {
        #expect(report.metadata.linux?.verdict == "deadlock in futex")
        #expect(ReportListing.text([stored(report)]).contains("deadlock in futex"))
        for word in ["deadlock", "blocked", "futex"] {
            #expect(ReportFilter(verdict: word).apply(to: [stored(report)]).count == 1)
        }
        #expect(ReportFilter(verdict: "spinning").apply(to: [stored(report)]).isEmpty)
    }

    @Test("A group shows the calls of both threads")
    func group() {
        let signature = Signature(of: report)
        #expect(signature.cause == "deadlock with Index.update()")
        #expect(signature.frames.first == "Socket.receive()")
        var other = report
        other.body.threads[1].frames[1].symbol = "Index.remove()"
        #expect(Signature(of: other) != signature)
    }

    @Test("The advice shows the calls of both threads, and the fault is the app's")
    func advice() {
        let explanation = Explanation(of: report)
        #expect(
            explanation.advice.hasPrefix(
                "Deadlock: the main thread in Socket.receive() (Socket.swift:41) and thread 1 (indexer) in Index.update() "
                    + "(Index.swift:70) wait for each other's locks. Take locks in the same order"))
        #expect(explanation.blame?.party == .app)
        #expect(explanation.blame?.reason.contains("circle") == true)
    }

    @Test(
        "The explanation begins with the headline, then the kernel's terms; without a visible deadlock it has only these"
    )
    func headline() {
        let lines = Explanation(of: report).text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines[1] == "Deadlock: the main thread and thread 1 (indexer) wait for each other")
        #expect(lines[2].hasPrefix("Main thread blocked "))
        let capture = Explanation(of: Self.capture)
        #expect(capture.headline == nil)
        #expect(capture.text.split(separator: "\n")[1].hasPrefix("Main thread blocked 19.97 s in recvfrom"))
    }

    @Test("The JSON has the headline beside the verdict, and none if the text has none")
    func headlineInJSON() {
        let json = Explanation(of: report).json
        #expect(
            json.contains("\"headline\" : \"Deadlock: the main thread and thread 1 (indexer) wait for each other\""),
            "\(json)")
        #expect(json.contains("\"verdict\" : \"Main thread blocked "))
        #expect(!Explanation(of: Self.capture).json.contains("\"headline\""))
    }

    private static var capture: Report {
        var facts = Samples.facts()
        facts.kind = .capture
        return Samples.report(facts)
    }

    @Test("A lock taken twice is a deadlock of one thread")
    func taken() {
        var report = report
        report.body.linux?.waits?.removeLast()
        report.body.linux?.waits?[0].holder?.thread = 4242
        #expect(Signature(of: report).cause == "deadlock")
        #expect(
            Explanation(of: report).advice.hasPrefix(
                "Deadlock: the main thread in Socket.receive() (Socket.swift:41) waits for a lock that it holds itself."
            ))
    }

    @Test("Queues that wait for each other are a deadlock; a lock that is merely held is not")
    func queues() {
        var facts = Samples.facts()
        let futex = "202 0x1 0x80 0x2 0x0 0x0 0x0 0x7ffe 0x7f00"
        facts.evidence.syscall = futex
        var capture = Samples.capture
        for index in 0...1 {
            capture.threads[index].syscall = futex
            capture.threads[index].frames = [
                "__DISPATCH_WAIT_FOR_QUEUE__", "saveCatalog\(index)()", "_dispatch_lane_serial_drain",
            ].map {
                Frame(address: 1, imageIndex: 0, imageOffset: 1, symbol: $0, symbolLocation: 0, trust: .cfi)
            }
            capture.threads[index].frames[0].imageIndex = 1
        }
        let report = Samples.report(facts, capture: capture)
        #expect(report.metadata.linux?.verdict == "deadlock of queues")
        #expect(Signature(of: report).cause == "deadlock of queues with saveCatalog1()")
        #expect(Explanation(of: report).advice.contains("in saveCatalog1() wait for each other's queues"))
        capture.threads.removeLast()
        #expect(Samples.report(facts, capture: capture).metadata.linux?.verdict == "blocked in futex")
    }
}
