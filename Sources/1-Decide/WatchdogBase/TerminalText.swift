// SPDX-License-Identifier: Apache-2.0

extension StringProtocol {
    /// The text on one line, safe for a terminal, a log line or a report.
    ///
    /// A scalar that could move the cursor, change colors, or hide or reorder text is written as `\x1b` or `\u{202e}`:
    ///
    /// - controls (C0, DEL, C1), tabs and line breaks among them, and the separators of lines and paragraphs;
    /// - invisible scalars and those that control a layout: Unicode's category Cf, such as bidirectional controls and
    ///   tags, and everything that its property `Default_Ignorable_Code_Point` names;
    /// - noncharacters, which text must not hold;
    /// - a mark, such as an accent or a variation selector, that has no base on this line, or more than
    ///   seven others on it;
    /// - a zero-width joiner or non-joiner anywhere but in an emoji or in a script that is written with them.
    ///
    /// Everything else remains: accents, all scripts, emoji. Bytes that are not UTF-8 are U+FFFD in every `String`.
    /// Text that has been made safe does not change any more.
    ///
    /// - Parameter limit: the maximum number of Unicode scalars in the result; a longer text ends in `...`, as in
    ///   Apple's long symbols. No more of the text than that is read.
    public func singleLine(limit: Int = .max) -> String {
        if utf8.count <= limit, utf8.allSatisfy({ (0x20...0x7e).contains($0) }) { return String(self) }
        var text = TerminalText(limit: limit)
        for scalar in unicodeScalars where !text.append(scalar) { break }
        return text.string
    }
}

/// Text that is made safe for a terminal, one scalar after the other.
struct TerminalText {
    /// The maximum number of marks on one base: what the languages of today need (six in Burmese, five in pointed
    /// Hebrew), but no tower of accents that covers the lines above.
    static let mostMarks = 8

    private let limit: Int
    private let escape: (Unicode.Scalar) -> String
    private var scalars = String.UnicodeScalarView()
    private var count = 0
    private var isCut = false
    /// What marks and joiners follow; nil where nothing can take one.
    private var base: Unicode.Scalar?
    private var marks = 0
    private var endsInJoiner = false

    init(limit: Int, escape: @escaping (Unicode.Scalar) -> String = { $0.escape }) {
        self.limit = max(0, limit)
        self.escape = escape
    }

    var string: String {
        guard isCut else { return String(scalars) }
        let dots = "...".prefix(limit)
        return String(scalars.prefix(limit - dots.count)) + dots
    }

    /// - Returns: false if the text has reached its limit, so that nothing more can be appended.
    mutating func append(_ scalar: Unicode.Scalar) -> Bool {
        let isHarmless = isHarmless(scalar)
        if isHarmless {
            scalars.append(scalar)
            count += 1
        } else {
            let escape = escape(scalar)
            scalars.append(contentsOf: escape.unicodeScalars)
            count += escape.utf8.count
            base = nil
        }
        isCut = count > limit
        return !isCut
    }

    private mutating func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isJoiner {
            guard let base, base.takesJoiners, !endsInJoiner, marks < Self.mostMarks else { return false }
            marks += 1
            endsInJoiner = true
            return true
        }
        endsInJoiner = false
        if scalar.isMark {
            guard base != nil, marks < Self.mostMarks else { return false }
            marks += 1
            return true
        }
        guard !scalar.isControl else { return false }
        base = scalar
        marks = 0
        return true
    }
}

extension String {
    /// The lines of the text, each made safe for a terminal by ``Swift/StringProtocol/singleLine(limit:)``.
    public var terminalLines: [String] {
        split(separator: "\n", omittingEmptySubsequences: false).map { $0.singleLine() }
    }

    /// The text, made safe for a terminal line by line with the escapes of JSON: what is JSON remains so, and has the
    /// same strings.
    package var terminalJSON: String {
        split(separator: "\n", omittingEmptySubsequences: false).map { line in
            var text = TerminalText(limit: .max) { $0.escapeInJSON }
            for scalar in line.unicodeScalars { _ = text.append(scalar) }
            return text.string
        }.joined(separator: "\n")
    }

    /// A string of JSON (RFC 8259, section 7) that is also safe for a terminal.
    package var jsonString: String {
        var result = "\""
        for scalar in unicodeScalars {
            switch scalar.value {
            case 0x22, 0x5c: result += "\\\(scalar)"
            case 0x0a: result += "\\n"
            case 0x00...0x1f, 0x7f...0x9f, 0x2028, 0x2029: result += scalar.escapeInJSON
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

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

extension Unicode.Scalar {
    fileprivate var escape: String {
        value < 0x100
            ? "\\x" + (value < 0x10 ? "0" : "") + String(value, radix: 16) : "\\u{\(String(value, radix: 16))}"
    }

    /// As UTF-16 in hexadecimal digits: a scalar beyond U+FFFF has two escapes.
    fileprivate var escapeInJSON: String {
        utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }

    /// ZERO WIDTH NON-JOINER or ZERO WIDTH JOINER.
    fileprivate var isJoiner: Bool { value == 0x200c || value == 0x200d }

    /// Whether joiners after this have a meaning: after an emoji, and in the scripts from Arabic to Mongolian.
    fileprivate var takesJoiners: Bool { (0x600...0x18af).contains(value) || (value > 0xff && properties.isEmoji) }

    /// Whether this is drawn on what precedes it.
    fileprivate var isMark: Bool {
        switch value {
        case 0x20...0x7e: false
        // Variation selectors, of Mongolian and of everything else.
        case 0x180b...0x180d, 0x180f, 0xfe00...0xfe0f, 0xe0100...0xe01ef: true
        default:
            switch properties.generalCategory {
            case .nonspacingMark, .enclosingMark: !properties.isDefaultIgnorableCodePoint
            default: false
            }
        }
    }

    /// Whether this controls a display or shows nothing.
    fileprivate var isControl: Bool {
        if (0x20...0x7e).contains(value) { return false }
        return switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
        default: properties.isDefaultIgnorableCodePoint || properties.isNoncharacterCodePoint
        }
    }
}
