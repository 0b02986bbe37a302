// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The text on one line, safe for a terminal: every character that could move the cursor, change colors, hide or
    /// reorder text is written as `\x1b` or `\u{202e}`.
    ///
    /// - Parameter limit: the maximum number of Unicode scalars in the result; a longer text ends in `...`, as in
    ///   Apple's long symbols.
    public func singleLine(limit: Int = .max) -> String {
        if utf8.count <= limit, utf8.allSatisfy({ (0x20...0x7e).contains($0) }) { return self }
        var result = String.UnicodeScalarView()
        var count = 0
        for scalar in unicodeScalars {
            let piece = scalar.isHarmless ? String.UnicodeScalarView([scalar]) : scalar.escape.unicodeScalars
            count += piece.count
            guard count <= limit else { return String(result.prefix(Swift.max(0, limit - 3))) + "..." }
            result += piece
        }
        return String(result)
    }
}

extension String {
    /// The text as lines of at most this many columns, broken at spaces; all lines but the first are indented.
    ///
    /// A word that is too long has a line of its own. Spaces at the beginning remain.
    package func wrapped(columns: Int, indent: String = "") -> [String] {
        let body = drop { $0 == " " }
        var lines: [String] = []
        var line = String(self[..<body.startIndex])
        var isFresh = true
        for word in body.split(separator: " ", omittingEmptySubsequences: false) {
            if !isFresh, line.count + 1 + word.count > columns {
                lines.append(line)
                line = indent
                isFresh = true
            }
            line += isFresh ? word : " " + word
            isFresh = false
        }
        return lines + [line]
    }
}

extension UnicodeScalar {
    fileprivate var escape: String {
        value < 0x100
            ? "\\x" + (value < 0x10 ? "0" : "") + String(value, radix: 16) : "\\u{\(String(value, radix: 16))}"
    }

    /// False for controls (C0, DEL, C1), line separators, and invisible or bidirectional formatting characters.
    fileprivate var isHarmless: Bool {
        switch value {
        case 0x20...0x7e: true
        case 0...0x1f, 0x7f...0x9f: false
        case 0xad, 0x61c, 0x180e, 0x200b, 0x200e, 0x200f, 0x2028...0x202e, 0x2060...0x206f, 0xfeff: false
        case 0xfff0...0xfffb, 0xfffe...0xffff, 0xe0000...0xe007f: false
        default: true
        }
    }
}
