// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import ReportFixtures
import Testing
import WatchdogBase

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("List")
struct ReportListingTests {
    private func stored(_ report: Report) -> StoredReport {
        StoredReport(
            name: "x.ips", path: "/r/x.ips", size: 4_096, modified: Samples.captureTime, metadata: report.metadata,
            fault: nil, isInStore: true)
    }

    @Test("A list has one line per report")
    func table() {
        let damaged = StoredReport(
            name: "Broken-2026-11-21-002022.ips", path: "/r/Broken-2026-11-21-002022.ips", size: 1,
            modified: Samples.captureTime, metadata: nil, fault: "line 1: no metadata", isInStore: true)
        #expect(
            ReportListing.text(Samples.goldens.map { stored($0.report) } + [damaged]) == """
                ID        DATE (UTC)        APP            PID  EVENT           VERDICT
                00000000  2026-11-21 00:20  HangMain      4242  not ready       blocked in f...
                00000000  2026-11-21 00:20  HangMain      4242  not ready       starved
                00000000  2026-11-21 00:20  HangMain      4242  did not answer  blocked in r...
                00000000  2026-11-21 00:20  HangMain      4242  did not exit    D state at f...
                -         2026-11-21 00:20  Broken-20...     -  -               damaged

                """)
        #expect(
            ReportListing.text([stored(Samples.report())]) == """
                ID        DATE (UTC)        APP        PID  EVENT           VERDICT
                00000000  2026-11-21 00:20  HangMain  4242  did not answer  blocked in recvfrom

                """)
        #expect(ReportListing.text([]) == "No reports.\n")
        let colored = TextStyle(isColored: true)
        let reports = Samples.goldens.map { stored($0.report) } + [damaged]
        let text = ReportListing.text(reports, in: colored)
        #expect(text.contains("\u{1b}[1;31mdamaged\u{1b}[0m") && text.contains("\u{1b}[1;31mdid not answer"))
        #expect(text.replacing(#/\u{1b}\[[0-9;]*m/#, with: "").lines == ReportListing.text(reports).lines)
    }

    @Test("Dates use the reader's clock, whose zone the heading names; an invalid time is shown unchanged")
    func zones() {
        var tokyo = Samples.report()
        tokyo.metadata.timestamp = "2026-11-21 09:20:22.12 +0900"
        var broken = Samples.report()
        broken.metadata.timestamp = "no time at all, and long"
        func dates(_ zone: LocalZone) -> [Substring] {
            ReportListing.text([stored(Samples.report()), stored(tokyo), stored(broken)], at: zone)
                .split(separator: "\n").map { $0.dropFirst(10).prefix(16) }
        }
        let utc = ["DATE (UTC)      ", "2026-11-21 00:20", "2026-11-21 00:20", "no time at all, "]
        #expect(dates(.utc).map(String.init) == utc)
        let india = LocalZone(utcOffset: 19_800, abbreviation: "IST")
        let ist = ["DATE (IST)      ", "2026-11-21 05:50", "2026-11-21 05:50", "no time at all, "]
        #expect(dates(india).map(String.init) == ist)
        let groups = ReportGroup.text(ReportGroup.grouping([Samples.report()]), at: india)
        #expect(groups.hasPrefix("COUNT  FIRST (IST)       LAST "))
        #expect(groups.contains("1  2026-11-21 05:50  2026-11-21 05:50"))
        let explanation = Explanation(of: Samples.report())
        #expect(explanation.text.hasPrefix("HangMain[4242] · did not answer · 2026-11-21 00:20:22 UTC\n"))
        #expect(
            explanation.text(in: TextStyle()) { _ in india }
                .hasPrefix("HangMain[4242] · did not answer · 2026-11-21 05:50:22 IST\n"))
        broken.body.captureTime = "no time at all, and long"
        #expect(Explanation(of: broken).text.hasPrefix("HangMain[4242] · did not answer · no time at all, and\n"))
    }

    @Test("No line is longer than 80 columns, whatever the names are, and none can control a terminal")
    func width() {
        var report = Samples.report()
        report.metadata.appName = "\u{1b}[2J" + String(repeating: "a", count: 200)
        report.metadata.timestamp = String(repeating: "9", count: 200)
        report.metadata.incidentID = "\n" + String(repeating: "A", count: 200)
        report.metadata.linux = .init(
            pid: .max, event: String(repeating: "e", count: 99), verdict: String(repeating: "v", count: 200))
        let text = ReportListing.text([stored(report)])
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 })
        #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 })
        #expect(text.split(separator: "\n").count == 2)
    }

    @Test("The culprit comes first, before the kernel's words, and can be searched")
    func culprit() throws {
        var report = Samples.report()
        let explanation = Explanation(of: report)
        let culprit = try #require(explanation.culprit)
        report.summarize(explanation)
        #expect(report.metadata.linux?.verdict == "blocked in recvfrom")
        let listed = stored(report)
        let rows = ReportListing.text([listed], width: .max).lines
        #expect(rows.last?.hasSuffix("  \(culprit) · blocked in recvfrom") == true, "\(rows)")
        #expect(ReportListing.json([listed]).contains("\"culprit\" : \"Main thread waits for data from a socket"))
        for word in ["waits for DATA", "recvfrom", "blocked"] {
            #expect(ReportFilter(verdict: word).apply(to: [listed]).count == 1, "\(word)")
        }
        #expect(ReportFilter(verdict: "file lock").apply(to: [listed]).isEmpty)
        let groups = ReportGroup.text(ReportGroup.grouping([report]))
        #expect(groups.contains(" · \(culprit) · blocked in recvfrom\n"), "\(groups)")
    }

    @Test("The JSON of a list has the same and more")
    func json() throws {
        struct Entry: Decodable, Equatable {
            let incident, file, path, timestamp, app, event, verdict: String
            let size, pid: Int
        }
        let text = ReportListing.json([stored(Samples.report())])
        #expect(
            try JSONDecoder().decode([Entry].self, from: Data(text.utf8)) == [
                Entry(
                    incident: "00000000-0000-4000-8000-000000000001", file: "x.ips", path: "/r/x.ips",
                    timestamp: "2026-11-21 00:20:22.12 +0000", app: "HangMain", event: "scene-update",
                    verdict: "blocked in recvfrom", size: 4_096, pid: 4_242)
            ])
    }
}

extension String {
    /// The lines without trailing spaces, which colored cells keep.
    fileprivate var lines: [String] {
        split(separator: "\n").map { line in
            var line = line
            while line.last == " " { line.removeLast() }
            return String(line)
        }
    }
}
