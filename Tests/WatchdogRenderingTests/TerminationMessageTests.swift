// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing
import WatchdogRendering
import WatchdogReport
import WatchdogVerdict

@Suite("Termination messages")
struct TerminationMessageTests {
    private func update() throws -> Report {
        try #require(Samples.goldens.first { $0.name == "scene-update" }).report
    }

    @Test("state the event, the party at fault, the place, and how to find the report")
    func whole() throws {
        let report = try update()
        let explanation = Explanation(of: report)
        let lines = TerminationMessage.text("maps[7] killed", explanation, report: "/r/maps.ips").split(separator: "\n")
        let culprit = try #require(explanation.culprit)
        #expect(lines.first == "maps[7] killed")
        #expect(lines[1] == culprit)
        #expect(lines[2] == explanation.verdict)
        #expect(lines[3] == "Event: scene-update")
        #expect(lines[4].hasPrefix("Fault: "))
        let own = try #require(explanation.calls.first)
        #expect(lines.contains { $0.contains(own.function) && ($0.hasPrefix("In: ") || $0.hasPrefix("From: ")) })
        #expect(lines.suffix(2) == ["Incident: \(report.body.incident)", "Report: /r/maps.ips"])
    }

    @Test("have one line if there is no report")
    func short() {
        #expect(
            TerminationMessage.text("sh[7] was killed by SIGSEGV", nil, report: nil) == "sh[7] was killed by SIGSEGV\n")
    }

    @Test("have a second line with the time if it can be long ago")
    func time() {
        let time = "1969-12-31 22:30:00 -0130"
        #expect(
            TerminationMessage.text("sh[7] was killed by SIGSEGV", at: time, nil, report: nil)
                == "sh[7] was killed by SIGSEGV\nTime: 1969-12-31 22:30:00 -0130\n")
    }

    @Test(
        "are valid UTF-8 in at most 4,096 bytes, with the incident at their end",
        arguments: ["\u{1f415}", "\u{1}", "x"])
    func bounds(character: String) throws {
        let long = String(repeating: character, count: 10_000)
        var report = try update()
        report.body.linux?.verdict.line = long
        for index in report.body.threads.indices {
            for frame in report.body.threads[index].frames.indices {
                report.body.threads[index].frames[frame].symbol = long
            }
        }
        let text = TerminationMessage.text(long, Explanation(of: report), report: "/r/maps.ips")
        #expect(text.utf8.count <= TerminationMessage.limit)
        #expect(text.hasSuffix("Incident: \(report.body.incident)\nReport: /r/maps.ips\n"))
        let path = TerminationMessage.text(long, Explanation(of: report), report: long)
        #expect(path.utf8.count <= TerminationMessage.limit)
    }
}
