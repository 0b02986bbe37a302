// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogWire

@Suite("Text for people")
struct PrintableTests {
    @Test(
        "what controls a display is removed or becomes a space",
        arguments: [
            ("plain text", "plain text"), ("", ""), ("a\nb\tc\rd", "a b c d"), ("a\u{2028}b\u{2029}c", "a b c"),
            ("\u{1b}[31mred\u{1b}[0m", "[31mred[0m"), ("bell\u{7}\u{0}\u{7f}\u{9b}", "bell"),
            ("left\u{202e}right\u{2066}", "leftright"), ("zero\u{200b}width\u{feff}", "zerowidth"),
            ("👩‍💻 ü € 日本", "👩‍💻 ü € 日本"),
        ]
    )
    func cleaned(text: String, shown: String) {
        #expect(text.printable(limit: 100) == shown)
    }

    @Test(
        "a longer text is cut at a scalar and says so",
        arguments: [
            ("abcdef", 6, "abcdef"), ("abcdefg", 6, "abc…"), ("€€€", 9, "€€€"), ("€€€€", 9, "€€…"), ("€€€€", 8, "€…"),
            ("abcd", 3, "…"), ("abcd", 2, ""), ("abcd", 0, ""), ("abcd", -1, ""), ("", 0, ""),
            ("\u{7}\u{7}\u{7}ab", 2, "ab"),
        ]
    )
    func bounded(text: String, limit: Int, shown: String) {
        #expect(text.printable(limit: limit) == shown)
    }
}
