// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@Suite("Text that is safe for a terminal")
struct TerminalTextTests {
    @Test(
        "Ordinary text of any language remains",
        arguments: [
            "", " ", "plain text ~ \\x1b", "Ünïcödé ß", "e\u{301}", "日本語 中文 한국어", "Ελληνικά Русский", "עברית",
            "العربية",
            "हिन्दी क्‍ष", "र‍्याम", "نمی‌خواهم", "ไทย", "မြွှို့", "a\u{a0}b\u{3000}c", "€ → ½ °", "█▒◆·…",
            "😀 👍🏽 👩‍💻 👨‍👩‍👧‍👦 🏳️‍🌈 ❤️ 1️⃣ 🇨🇭", "葛\u{e0100}", "\u{fffd}",
        ]
    )
    func ordinary(text: String) {
        #expect(Array(text.singleLine().unicodeScalars) == Array(text.unicodeScalars))
    }

    @Test(
        "Controls of C0 and C1, tabs and line breaks are written out",
        arguments: [
            ("\u{0}\u{7}\u{8}", #"\x00\x07\x08"#), ("a\tb\nc\rd\r\ne", #"a\x09b\x0ac\x0dd\x0d\x0ae"#),
            ("\u{b}\u{c}\u{7f}", #"\x0b\x0c\x7f"#), ("\u{80}\u{85}\u{9c}\u{9f}", #"\x80\x85\x9c\x9f"#),
            ("\u{2028}\u{2029}", #"\u{2028}\u{2029}"#),
        ]
    )
    func controls(text: String, shown: String) {
        #expect(text.singleLine() == shown)
    }

    @Test("No control, separator, format character or noncharacter of Unicode comes through")
    func everyControl() {
        for value in 0...UInt32(0x10_ffff) {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let properties = scalar.properties
            switch properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: break
            default: guard properties.isNoncharacterCodePoint else { continue }
            }
            let shown = "a\(scalar)b".singleLine()
            guard shown.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else {
                Issue.record("U+\(String(value, radix: 16)): \(shown.debugDescription)")
                return
            }
        }
    }

    @Test(
        "Escape sequences have no effect: colors, titles, links, the clipboard, 8-bit introducers",
        arguments: [
            ("\u{1b}[31mred\u{1b}[0m", #"\x1b[31mred\x1b[0m"#), ("\u{1b}]0;title\u{7}", #"\x1b]0;title\x07"#),
            ("\u{1b}]8;;http://a\u{1b}\\b", #"\x1b]8;;http://a\x1b\b"#),
            ("\u{1b}]52;c;YQ==\u{9c}", #"\x1b]52;c;YQ==\x9c"#),
            ("\u{9b}2J", #"\x9b2J"#), ("\u{90}q\u{9c}", #"\x90q\x9c"#), ("\u{1b}\u{1b}c", #"\x1b\x1bc"#),
        ]
    )
    func escapeSequences(text: String, shown: String) {
        #expect(text.singleLine() == shown)
    }

    @Test(
        "Nothing reorders text: embeddings, overrides, isolates, marks",
        arguments: Array(0x202a...0x202e) + Array(0x2066...0x2069) + [0x200e, 0x200f, 0x61c] + Array(0x206a...0x206f)
    )
    func directions(value: UInt32) throws {
        let scalar = try #require(Unicode.Scalar(value))
        #expect("exe.\(scalar)gpj".singleLine() == "exe.\\u{\(String(value, radix: 16))}gpj")
        #expect("א\(scalar)ب".singleLine() == "א\\u{\(String(value, radix: 16))}ب")
    }

    @Test(
        "Nothing is invisible: zero-width characters, tags, fillers, joiners where nothing joins",
        arguments: [
            ("a\u{200b}b", #"a\u{200b}b"#), ("\u{feff}a", #"\u{feff}a"#), ("a\u{ad}b", #"a\xadb"#),
            ("a\u{2060}\u{2063}b", #"a\u{2060}\u{2063}b"#), ("a\u{34f}b", #"a\u{34f}b"#),
            ("\u{3164}\u{115f}\u{ffa0}", #"\u{3164}\u{115f}\u{ffa0}"#),
            ("\u{e0061}\u{e007f}", #"\u{e0061}\u{e007f}"#), ("a\u{200d}b", #"a\u{200d}b"#),
            ("\u{200d}", #"\u{200d}"#), ("é\u{200c}é", #"é\u{200c}é"#), ("1\u{200d}2", #"1\u{200d}2"#),
            ("क\u{200d}\u{200d}", "क\u{200d}\\u{200d}"), ("日\u{200d}本", #"日\u{200d}本"#),
        ]
    )
    func invisible(text: String, shown: String) {
        #expect(Array(text.singleLine().unicodeScalars) == Array(shown.unicodeScalars))
    }

    @Test("A mark needs a base on its own line, and a base has at most eight marks")
    func marks() {
        #expect("\u{301}a".singleLine() == #"\u{301}a"#)
        #expect("a\n\u{301}".singleLine() == #"a\x0a\u{301}"#)
        #expect("\u{fe0f}".singleLine() == #"\u{fe0f}"#)
        let flood = "a" + String(repeating: "\u{301}", count: 1_000)
        let shown = flood.singleLine(limit: 100)
        #expect(shown.unicodeScalars.count == 100)
        #expect(shown.unicodeScalars.count { $0 == "\u{301}" } == 8)
        let selectors = "a" + String(repeating: "\u{e0101}", count: 20)
        #expect(selectors.singleLine().unicodeScalars.count { $0 == "\u{e0101}" } == 8)
        let families = "👩" + String(repeating: "\u{200d}\u{fe0f}", count: 20)
        #expect(families.singleLine().unicodeScalars.count { !$0.isASCII } == 9)
    }

    @Test("Bytes that are not UTF-8 are replaced, those that look like controls of C1 too")
    func invalid() {
        let bytes: [UInt8] = [0x61, 0x9b, 0x33, 0xff, 0xc0, 0xaf, 0xed, 0xa0, 0x80, 0x62]
        let shown = String(decoding: bytes, as: UTF8.self).singleLine()
        #expect(shown.hasPrefix("a\u{fffd}3\u{fffd}") && shown.hasSuffix("\u{fffd}b"))
        #expect(shown.unicodeScalars.allSatisfy { $0.isASCII || $0 == "\u{fffd}" })
    }

    @Test(
        "A longer text is cut and ends in dots, within the limit",
        arguments: [
            ("abcdef", 6, "abcdef"), ("abcdefg", 6, "abc..."), ("äöü", 3, "äöü"), ("äöüä", 3, "..."),
            ("abcd", 2, ".."), ("abcd", 0, ""), ("abcd", -1, ""), ("", 0, ""), ("\u{1b}", 4, #"\x1b"#),
            ("\u{1b}", 3, "..."), ("a\u{1b}\u{1b}", 8, #"a\x1b..."#),
        ]
    )
    func bounded(text: String, limit: Int, shown: String) {
        #expect(text.singleLine(limit: limit) == shown)
    }

    @Test("Of a very long text, no more than the limit is looked at")
    func long() {
        let text = String(repeating: "\u{202e}é", count: 5_000_000)
        #expect((0..<1_000).allSatisfy { _ in text.singleLine(limit: 64).unicodeScalars.count == 64 })
    }

    @Test(
        "Safe text does not change any more",
        arguments: [
            "\u{1b}[2J\u{202e}x", "a\u{200d}b\u{301}", "\u{301}\u{301}e\u{301}", "👩‍💻\u{200d}\u{200d}",
            "क्‍ष\u{200b}\u{93f}",
            "e" + String(repeating: "\u{302}", count: 30),
        ]
    )
    func stable(text: String) {
        for limit in [Int.max, 40, 12, 5] {
            let once = text.singleLine(limit: limit)
            #expect(once.singleLine(limit: limit) == once)
        }
    }

    @Test("Lines stay lines, each of them safe")
    func lines() {
        #expect("a\n\u{1b}b\n\nc\r".terminalLines == ["a", #"\x1bb"#, "", #"c\x0d"#])
        #expect("".terminalLines == [""])
    }

    @Test("JSON remains JSON, with the same strings")
    func json() {
        let text = "{\n  \"a\u{9b}31m\u{7f}\" : \"\u{202e}é\u{e0001}👩‍💻\"\n}\n"
        #expect(text.terminalJSON == "{\n  \"a\\u009b31m\\u007f\" : \"\\u202eé\\udb40\\udc01👩‍💻\"\n}\n")
    }
}
