// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import WatchdogBase
import WatchdogLinux

@testable import WatchdogDaemon
@testable import WatchdogLaunch
@testable import WatchdogRun

@Suite("Messages as JSON")
struct JSONLogLineTests {
    private let time = WallTime(seconds: 1_795_000_000, nanoseconds: 123_456_789, utcOffset: 7_200)

    private func text(_ line: JSONLogLine) -> String { String(decoding: line.bytes, as: UTF8.self) }

    private func decoded(_ line: JSONLogLine) throws -> [String: String] {
        try JSONDecoder().decode([String: String].self, from: Data(line.bytes))
    }

    @Test("A message is one line with its time in UTC")
    func plain() {
        let line = JSONLogLine(.warning, "it \"hung\"\n\u{1b}[1m", app: "web", [("event", nil)], at: time)
        #expect(
            text(line) == #"{"time":"2026-11-18T11:06:40.123Z","level":"warning","app":"web","#
                + #""message":"it \"hung\"\n\u001b[1m"}"# + "\n")
    }

    @Test("A journal entry has its facts as members, and a message that does not repeat them")
    func entry() throws {
        var entry = JournalEntry("web[7] killed\n  verdict\n  /r.ips", priority: .error, identifier: "watchdogd")
        for (name, value) in [("KIND", "killed"), ("PID", "7"), ("APP", "web"), ("VERDICT", "verdict")] {
            entry.add("WATCHDOGD_\(name)", value)
        }
        entry.add("WATCHDOGD_REPORT", "/r.ips")
        let line = text(JSONLogLine(entry, app: "other", at: time))
        #expect(line.contains(#""level":"error","app":"web","message":"web[7] killed","kind":"killed","pid":7,"#))
        #expect(line.hasSuffix(#""verdict":"verdict","report":"/r.ips"}"# + "\n"))
    }

    @Test(
        "No line exceeds an atomic write to a pipe, and each is valid JSON",
        arguments: ["x", "\u{1}", "\u{1f415}", "\\"])
    func bounds(character: String) throws {
        let long = String(repeating: character, count: 20_000)
        let line = JSONLogLine(.info, long, app: long, [("verdict", long), ("report", long), ("fault", long)])
        #expect(line.bytes.count <= JSONLogLine.limit)
        #expect(line.bytes.count { $0 == UInt8(ascii: "\n") } == 1)
        let message = try #require(try decoded(line)["message"])
        #expect(message.hasPrefix(character) && message.hasSuffix("..."))
    }

    @Test("A report is split between lines, or between the characters of a long one, without loss")
    func parts() {
        let text = "one\ntwo\n" + String(repeating: "\u{1f415}", count: 10) + "\nend"
        let parts = text.parts(bytes: 10)
        #expect(parts.joined() == text)
        #expect(parts.allSatisfy { $0.utf8.count <= 10 && !$0.isEmpty })
        #expect(parts.first == "one\ntwo\n")
        #expect("".parts(bytes: 10).isEmpty)
    }
}
