// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WatchdogLinux

@Suite("Entries for the journal")
struct JournalEntryTests {
    @Test("an entry has NAME=value lines in the order of its fields")
    func lines() {
        var entry = JournalEntry("App ready", priority: .info, identifier: "watchdogd")
        entry.add("WATCHDOGD_PID", "42")
        entry.add("WATCHDOGD_REPORT", nil)
        #expect(
            String(decoding: entry.bytes, as: UTF8.self)
                == "MESSAGE=App ready\nPRIORITY=6\nSYSLOG_IDENTIFIER=watchdogd\nWATCHDOGD_PID=42\n")
        #expect(entry["WATCHDOGD_PID"] == "42")
        #expect(entry["WATCHDOGD_REPORT"] == nil)
    }

    @Test("a value with a newline is preceded by its length, in eight bytes, little-endian")
    func newlines() {
        let text = String(repeating: "x", count: 298) + "\ny"
        let entry = JournalEntry(text, priority: .error, identifier: "w")
        let expected =
            Array("MESSAGE\n".utf8) + [0x2c, 1, 0, 0, 0, 0, 0, 0] + Array(text.utf8)
            + Array("\nPRIORITY=3\nSYSLOG_IDENTIFIER=w\n".utf8)
        #expect(entry.bytes == expected)
    }

    @Test("a value cannot inject another field")
    func injection() {
        let entry = JournalEntry("harmless\nPRIORITY=0", priority: .info, identifier: "watchdogd")
        let head = Array("MESSAGE\n".utf8) + [19, 0, 0, 0, 0, 0, 0, 0]
        #expect(Array(entry.bytes.prefix(head.count)) == head)
    }

    @Test("a long value is truncated, but not within a character", arguments: 0..<4)
    func cut(offset: Int) throws {
        let text = String(repeating: "a", count: JournalEntry.valueLimit - offset) + "😀😀"
        let entry = JournalEntry(text, priority: .info, identifier: "w")
        let value = try #require(entry.fields.first).value
        #expect(value.count == JournalEntry.valueLimit - offset)
        #expect(value.allSatisfy { $0 == UInt8(ascii: "a") })
    }

    @Test("an attachment comes last, without a limit, and is not a field; an entry without it states why")
    func attachment() {
        var entry = JournalEntry("m", priority: .info, identifier: "w")
        let file = [UInt8](repeating: 0x0a, count: JournalEntry.valueLimit + 1)
        entry.attach("DATA", file, orSayWhyNotIn: "OMITTED")
        #expect(entry["DATA"] == nil)
        let head = Array("MESSAGE=m\nPRIORITY=6\nSYSLOG_IDENTIFIER=w\n".utf8)
        #expect(entry.bytes == head + Array("DATA\n".utf8) + [1, 0x10, 0, 0, 0, 0, 0, 0] + file + [0x0a])
        #expect(entry.size >= entry.bytes.count)
        let rest = entry.withoutAttachment(because: "no room")
        #expect(rest?.bytes == head + Array("OMITTED=no room\n".utf8))
        #expect(rest?.withoutAttachment(because: "again") == nil)
    }

    @Test("a stream begins with seven lines, which no name can break")
    func header() {
        let header = JournalStream.header(identifier: "my\napp", priority: .notice, hasLevelPrefix: true)
        #expect(String(decoding: header, as: UTF8.self) == "myapp\n\n5\n1\n0\n0\n0\n")
        let long = JournalStream.header(
            identifier: String(repeating: "x", count: 1_000), priority: .info, hasLevelPrefix: false)
        #expect(long.count == 255 + "\n\n6\n0\n0\n0\n0\n".utf8.count)
    }

    @Test("journald's own fields decide which entries belong to a launch")
    func match() {
        let both = JournalMatch(cgroup: "/system.slice/a/b", processes: [7, 8], since: .now())
        #expect(both.fields == ["_SYSTEMD_CGROUP=/system.slice/a/b", "_PID=7", "_PID=8"])
        #expect(JournalMatch(cgroup: "/", processes: [7], since: .now()).fields == ["_PID=7"])
        #expect(JournalMatch(cgroup: nil, processes: [], since: .now()).fields == [])
    }
}
