// SPDX-License-Identifier: Apache-2.0

import Glibc
import ReportFixtures
import Testing

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

/// One report per kind of event, as file and as text; they also serve readers of the documentation as examples.
///
/// `WATCHDOGD_UPDATE_GOLDENS=1 swift test --filter GoldenTests` rewrites them.
@Suite("Goldens")
struct GoldenTests {
    @Test("Files and texts are unchanged", arguments: Samples.goldens.map(\.name))
    func unchanged(name: String) throws {
        let report = try #require(Samples.goldens.first { $0.name == name }?.report)
        try compare(try ReportCoding.encode(report), with: "\(name).ips")
        try compare(Array(TextRenderer.render(report).utf8), with: "\(name).crash")
        try compare(Array(Explanation(of: report).text.utf8), with: "\(name).explain")
        try compare(Array(HTMLRenderer.render(report).utf8), with: "\(name).html")
        try compare(Array(MetricKitPayload(report).json.utf8), with: "\(name).metrickit.json")
    }

    @Test("The comparison of two incidents and the groups of all are unchanged")
    func comparisonAndGroups() throws {
        let reports = Samples.goldens.map(\.report)
        try compare(Array(ReportComparison(reports[0], reports[2]).text.utf8), with: "launch-update.diff")
        try compare(Array(ReportGroup.text(ReportGroup.grouping(reports)).utf8), with: "all.group")
    }

    @Test("Every kind of event has its golden file")
    func complete() {
        #expect(Samples.goldens.map { $0.report.metadata.linux?.event } == Samples.goldens.map(\.name))
        #expect(Samples.goldens.count == 4)
    }

    private func compare(_ bytes: [UInt8], with name: String) throws {
        let path = TestFiles.folder(of: #filePath) + "/Goldens/" + name
        if getenv("WATCHDOGD_UPDATE_GOLDENS").map({ String(cString: $0) }) == "1" {
            try TestFiles.write(bytes, to: path)
        }
        let golden = try #require(TestFiles.read(path), "\(path) is missing; set WATCHDOGD_UPDATE_GOLDENS=1")
        let ours = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        let theirs = String(decoding: golden, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        for (number, pair) in zip(ours, theirs).enumerated() where pair.0 != pair.1 {
            Issue.record("\(name):\(number + 1): \"\(pair.0)\" was \"\(pair.1)\"")
            return
        }
        #expect(ours.count == theirs.count, "\(name)")
    }
}
