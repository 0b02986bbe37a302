// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The text on one line, safe for a terminal.
    ///
    /// Every character that could move the cursor, change colors, or hide or reorder text is written as `\x1b` or
    /// `\u{202e}`.
    var shown: String {
        if utf8.allSatisfy({ (0x20...0x7e).contains($0) }) { return self }
        var result = ""
        for scalar in unicodeScalars {
            if scalar.isHarmless {
                result.unicodeScalars.append(scalar)
            } else if scalar.value < 0x100 {
                result += "\\x" + (scalar.value < 0x10 ? "0" : "") + String(scalar.value, radix: 16)
            } else {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            }
        }
        return result
    }

    /// The text with its line breaks, otherwise like ``shown``.
    var shownOnLines: String {
        split(separator: "\n", omittingEmptySubsequences: false).map { String($0).shown }.joined(separator: "\n")
    }

    /// The text in at most `limit` columns; a longer one ends with `...`.
    func cut(to limit: Int) -> String {
        count <= limit ? self : String(prefix(max(0, limit - 3))) + "..."
    }

    /// The text in at most `limit` columns; a longer one keeps its beginning and its end.
    func cutInside(to limit: Int) -> String {
        guard count > limit else { return self }
        let kept = max(0, limit - 3)
        return String(prefix((kept + 1) / 2)) + "..." + String(suffix(kept / 2))
    }

    /// The text padded with trailing spaces.
    func left(_ width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }

    /// The text padded with leading spaces.
    func right(_ width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }
}

extension Unicode.Scalar {
    /// False for control characters (C0, DEL, C1), line separators, and characters that are invisible or change the
    /// text direction.
    fileprivate var isHarmless: Bool {
        switch value {
        case 0x20...0x7e: true
        case 0...0x1f, 0x7f...0x9f: false
        case 0xad, 0x61c, 0x180e, 0x200b...0x200f, 0x2028...0x202e, 0x2060...0x206f, 0xfeff: false
        case 0xfff0...0xfffb, 0xfffe...0xffff, 0xe0000...0xe007f: false
        default: true
        }
    }
}
