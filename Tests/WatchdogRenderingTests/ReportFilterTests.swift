// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing
import WatchdogBase

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("Filters")
struct ReportFilterTests {
    private let all = Samples.goldens.enumerated().map { index, golden in
        var metadata = golden.report.metadata
        metadata.timestamp = WallTime(seconds: Samples.captureTime.seconds - Int64(index) * 3_600).text(
            fractionDigits: 2)
        return StoredReport(
            name: golden.name, path: golden.name, size: 1, modified: Samples.captureTime, metadata: metadata,
            fault: nil, isInStore: true)
    }

    private func names(_ filter: ReportFilter) -> [String] { filter.apply(to: all).map(\.name) }

    @Test("App, event, verdict, time and number narrow a list")
    func filters() {
        #expect(names(ReportFilter()).count == 4)
        #expect(names(ReportFilter(app: "hangmain")).count == 4)
        #expect(names(ReportFilter(app: "Hang")) == [])
        #expect(names(ReportFilter(app: "hang*")).count == 4)
        #expect(names(ReportFilter(app: "*x")) == [])
        #expect(names(ReportFilter(event: "process-exit")) == ["process-exit"])
        #expect(names(ReportFilter(event: "did not exit")) == ["process-exit"])
        #expect(names(ReportFilter(event: "not ready")) == ["process-launch", "scene-create"])
        #expect(names(ReportFilter(verdict: "blocked")) == ["process-launch", "scene-update"])
        #expect(names(ReportFilter(verdict: "FUTEX")) == ["process-launch"])
        #expect(names(ReportFilter(verdict: "uninterruptible")) == ["process-exit"])
        #expect(names(ReportFilter(limit: 2)) == ["process-launch", "scene-create"])
        let hourAgo = ReportFilter.beginning("1h", now: Samples.captureTime)
        #expect(names(ReportFilter(since: hourAgo)) == ["process-launch"])
        #expect(names(ReportFilter(verdict: "blocked", limit: 1)) == ["process-launch"])
    }

    @Test("If nothing matches, the list reports how many do not, and a likely intended filter")
    func absence() {
        func text(_ filter: ReportFilter, host: String? = nil, since: String? = nil, isCut: Bool = false) -> String {
            filter.absence(host: host, since: since, among: all, isCut: isCut)
        }
        #expect(
            text(ReportFilter(app: "hangmian"))
                == "No report matches --app hangmian (4 reports do not); did you mean HangMain?\n")
        #expect(text(ReportFilter(app: "postgres")) == "No report matches --app postgres (4 reports do not)\n")
        #expect(
            text(ReportFilter(verdict: "stavred"))
                == "No report matches --verdict stavred (4 reports do not); did you mean starved?\n")
        #expect(text(ReportFilter(verdict: "spinning")) == "No report matches --verdict spinning (4 reports do not)\n")
        #expect(
            text(ReportFilter(app: "HangMain"), host: "web", since: "2026-11-20 18:30", isCut: true)
                == "No report matches --host web --app HangMain --since \"2026-11-20 18:30\" "
                + "(more than 4 reports do not)\n")
        #expect(text(ReportFilter(app: "\u{1b}[2J")).allSatisfy { $0.isNewline || !$0.isASCII || $0 >= " " })
        #expect(text(ReportFilter(limit: 1)) == "No reports.\n", "a limit leaves nothing out of an empty list")
        let one = ReportFilter(app: "x").absence(host: nil, since: nil, among: Array(all.prefix(1)), isCut: false)
        #expect(one == "No report matches --app x (1 report does not)\n")
        #expect(ReportFilter(app: "x").absence(host: nil, since: nil, among: [], isCut: false) == "No reports.\n")
    }

    @Test(
        "A start is a span, a day, or a day and a time, in the current zone",
        arguments: [
            ("2h", "2026-11-21 00:20:22 +0100"), ("1min 30s", "2026-11-21 02:18:52 +0100"),
            ("2026-11-20", "2026-11-20 00:00:00 +0100"), ("2026-11-20 18:30", "2026-11-20 18:30:00 +0100"),
            ("2026-11-20T18:30:05", "2026-11-20 18:30:05 +0100"), ("yesterday", nil), ("", nil), ("5", nil),
            ("2026-13-01", nil), ("2026-11-20 18:30 +0000", nil),
        ] as [(String, String?)])
    func beginnings(text: String, expected: String?) throws {
        let now = try #require(WallTime("2026-11-21 02:20:22 +0100"))
        #expect(ReportFilter.beginning(text, now: now)?.text(fractionDigits: 0) == expected)
    }
}
