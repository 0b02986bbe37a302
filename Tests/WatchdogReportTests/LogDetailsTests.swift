// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing
import WatchdogBase

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

@Suite("The app's output in a report")
struct LogDetailsTests {
    private func report(_ lines: [LogDetails.Line], _ source: LogDetails.Source = .journal) -> Report {
        var facts = Samples.facts()
        facts.log = LogDetails(source: source, lines: lines)
        return Samples.report(facts)
    }

    private func texts(_ lines: String...) -> [String]? {
        report(lines.map { LogDetails.Line(text: $0) }).body.linux?.log?.lines.map(\.text)
    }

    @Test("secrets are replaced, line by line")
    func secrets() {
        #expect(texts("login with password=hunter2", "done") == ["login with password=<redacted>", "done"])
        #expect(texts("Authorization: Bearer abc") == ["Authorization: <redacted>"])
    }

    @Test("a private key is replaced from its beginning to its end, or to the end of the text")
    func keys() {
        #expect(
            texts("a", "-----BEGIN RSA PRIVATE KEY-----", "short", "x y", "-----END RSA PRIVATE KEY-----", "b")
                == ["a"] + Array(repeating: Redaction.mark, count: 4) + ["b"])
        #expect(texts("-----BEGIN PRIVATE KEY-----", "short") == [Redaction.mark, Redaction.mark])
        #expect(texts("-----BEGIN X----- AAAA -----END X-----", "b") == [Redaction.mark, "b"])
    }

    @Test("a line is safe for a terminal and cannot imitate another part of the report")
    func hostile() {
        let report = report(
            [
                LogDetails.Line(text: "Binary Images:"), LogDetails.Line(text: "\u{1b}]0;title\u{7}\u{202e}"),
                LogDetails.Line(microseconds: .max, text: "late"), LogDetails.Line(microseconds: .min, text: ""),
            ], .file)
        let text = TextRenderer.render(report)
        #expect(text.contains("\nFiltered syslog:\n| Binary Images:\n| \\x1b]0;title\\x07\\u{202e}\n"))
        #expect(text.split(separator: "\n").count { $0 == "Binary Images:" } == 1)
        #expect(!text.unicodeScalars.contains("\u{1b}"))
    }

    @Test("times use the report's time zone, to the millisecond")
    func times() {
        var facts = Samples.facts()
        facts.captureTime = WallTime(seconds: 1_795_220_422, nanoseconds: 0, utcOffset: 3_600)
        facts.log = LogDetails(
            source: .journal, lines: [LogDetails.Line(microseconds: 1_795_220_421_999_900, text: "x")])
        #expect(TextRenderer.render(Samples.report(facts)).contains("\nFiltered syslog:\n01:20:21.999 x\n\n"))
    }

    @Test("only the last lines are kept, each of bounded length")
    func limits() throws {
        let many = (0..<1_000).map {
            LogDetails.Line(text: "\($0)" + String(repeating: " x", count: $0 < 990 ? 1 : 2_000))
        }
        let kept = try #require(report(many).body.linux?.log?.lines)
        #expect(kept.count == ReportLimits.logLines)
        #expect(kept.last?.text.hasPrefix("999 x") == true)
        #expect(kept.map(\.text.count).max() == ReportLimits.lineLength)
    }

    @Test("a report without output does not mention it, and an older one can be read")
    func absent() throws {
        let report = Samples.report()
        #expect(!TextRenderer.render(report).contains("syslog"))
        #expect(!HTMLRenderer.render(report).contains("Last lines of output"))
        let file = try ReportCoding.encode(report)
        #expect(!String(decoding: file, as: UTF8.self).contains("\"log\""))
        #expect(try ReportCoding.decode(file) == report)
    }

    @Test("the output is in the file, and on the page")
    func present() throws {
        let report = report([LogDetails.Line(microseconds: 1_795_220_402_017_345, text: "<b>12 albums</b>")])
        #expect(try ReportCoding.decode(try ReportCoding.encode(report)) == report)
        let page = HTMLRenderer.render(report)
        #expect(page.contains("Last lines of output (1)"))
        #expect(page.contains("00:20:02.017"))
        #expect(page.contains("&lt;b>12 albums") || page.contains("&lt;b&gt;12 albums"))
    }
}
