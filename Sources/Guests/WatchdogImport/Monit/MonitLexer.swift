// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration

/// Splits monit's control file into tokens like monit's scanner: the longest match wins.
struct MonitLexer {
    private let bytes: [UInt8]
    private let file: String
    private var index = 0
    private var line = 1
    /// The noise words after the last token.
    private var noise = ""
    private var tokens: [MonitToken] = []
    private var lastEnd = -1

    static func tokens(of file: ConfigurationFile) throws(ImportError) -> [MonitToken] {
        var lexer = MonitLexer(file: file.path, lines: try ForeignText.lines(of: file))
        while lexer.index < lexer.bytes.count { try lexer.readNext() }
        return lexer.tokens
    }

    private init(file: String, lines: [String]) {
        self.file = file
        bytes = Array(lines.joined(separator: "\n").utf8)
    }

    // MARK: - Bytes

    private var place: ImportPlace { ImportPlace(file: file, line: line) }

    private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0d }

    /// Whether a byte can be part of an unquoted word.
    private static func isInWord(_ byte: UInt8) -> Bool {
        !"\t\n\r !@:{}\"';(),%".utf8.contains(byte)
    }

    /// The end of the run of bytes from `start` that match.
    private func end(from start: Int, while isPart: (UInt8) -> Bool) -> Int {
        var end = start
        while end < bytes.count, isPart(bytes[end]) { end += 1 }
        return end
    }

    private func skippingBlanks(_ start: Int) -> Int { end(from: start, while: Self.isBlank) }

    /// The index after a word, ignoring case; nil if the word is not at `start`.
    private func after(_ word: String, at start: Int) -> Int? {
        let end = start + word.utf8.count
        guard end <= bytes.count, text(start..<end).lowercased() == word else { return nil }
        return end
    }

    private func isByte(_ character: Unicode.Scalar, at index: Int) -> Bool {
        index < bytes.count && bytes[index] == UInt8(ascii: character)
    }

    /// Adds a token, and moves past it.
    private mutating func add(
        _ kind: MonitToken.Kind, _ text: String, shown: String, to end: Int, at place: ImportPlace? = nil
    ) {
        let isAttached = noise.isEmpty && index == lastEnd
        let shown = noise.isEmpty ? shown : "\(noise) \(shown)"
        noise = ""
        tokens.append(
            MonitToken(kind: kind, text: text, shown: shown, isAttached: isAttached, place: place ?? self.place))
        advance(to: end)
        lastEnd = end
    }

    private mutating func add(_ kind: MonitToken.Kind, to end: Int) {
        let text = text(index..<end)
        add(kind, text, shown: text, to: end)
    }

    private mutating func advance(to end: Int) {
        line += bytes[index..<end].count { $0 == UInt8(ascii: "\n") }
        index = end
    }

    // MARK: - Tokens

    private mutating func readNext() throws(ImportError) {
        let byte = bytes[index]
        if Self.isBlank(byte) || ";,()\n".utf8.contains(byte) { return advance(to: index + 1) }
        if byte == UInt8(ascii: "#") { return advance(to: end(from: index) { $0 != UInt8(ascii: "\n") }) }
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
            let (text, end) = try quoted(index)
            return add(.text, text, shown: self.text(index..<end), to: end)
        }
        if let end = endOfAddress { return add(.word, to: end) }
        let end = end(from: index, while: Self.isInWord)
        guard end > index else {
            // `!=`; any other mark is a separate token.
            let mark = after("!=~", at: index) ?? after("!=", at: index) ?? index + 1
            return add(.word, to: mark)
        }
        // A backslash at the end of a line continues it.
        if byte == UInt8(ascii: "\\"), end == index + 1 { return advance(to: end) }
        if try readCommand() { return }
        if try readName() { return }
        if readRemark(end) || readPhrase(end) { return }
        readWord(end)
    }

    private mutating func readWord(_ end: Int) {
        let word = text(index..<end)
        if isByte(":", at: end), after("://", at: end) != nil, word.utf8.allSatisfy(\.isLetterOrDigit) {
            return add(.text, to: self.end(from: end) { !Self.isBlank($0) && $0 != UInt8(ascii: "\n") })
        }
        if isByte("@", at: end) { return add(.text, to: self.end(from: end + 1, while: Self.isInWord)) }
        if MonitToken.noise.contains(word.lowercased()) {
            noise += noise.isEmpty ? word : " \(word)"
            return advance(to: end)
        }
        let parts = word.split(separator: ".", omittingEmptySubsequences: false)
        let isNumber =
            parts.count <= 2 && parts.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39) ~= $0 } }
        add(isNumber ? .number : .word, to: end)
    }

    /// The end of an IPv6 address, the only word with colons.
    private var endOfAddress: Int? {
        let end = end(from: index) { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") || $0.isHexadecimal }
        return bytes[index..<end].count { $0 == UInt8(ascii: ":") } > 1 ? end : nil
    }

    /// A quoted text, and the index after it.
    private func quoted(_ start: Int) throws(ImportError) -> (text: String, end: Int) {
        guard let close = bytes[(start + 1)...].firstIndex(of: bytes[start]) else {
            throw ImportError(place, "the quote is never closed")
        }
        return (try unescaped(start..<close + 1), close + 1)
    }

    /// monit removes all quotes and white space at both ends, then reads some escapes.
    private func unescaped(_ range: Range<Int>) throws(ImportError) -> String {
        let outer = Set("\"' \t\n\u{0b}\u{0c}\r".utf8)
        var rest = bytes[range].drop { outer.contains($0) }
        while let last = rest.last, outer.contains(last) { rest = rest.dropLast() }
        let escapes: [UInt8: UInt8] = [0x6e: 0x0a, 0x74: 0x09, 0x72: 0x0d, 0x20: 0x20, 0x5c: 0x5c]
        var value: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), let next = rest.first, let character = escapes[next] {
                value.append(character)
                rest = rest.dropFirst()
            } else if byte == UInt8(ascii: "\\"), rest.starts(with: "0x".utf8) {
                let digits = String(decoding: rest.dropFirst(2).prefix(2), as: UTF8.self)
                guard digits.utf8.count == 2, let character = UInt8(digits, radix: 16) else {
                    throw ImportError(place, "two hexadecimal digits are missing after \\0x")
                }
                value.append(character)
                rest = rest.dropFirst(4)
            } else {
                value.append(byte)
            }
        }
        guard let text = String(validating: value, as: UTF8.self) else {
            throw ImportError(place, "the text with its escapes is not valid UTF-8")
        }
        return text
    }

    // MARK: - Commands

    /// `start program = "` and the words up to the next quote: the quote cannot be escaped inside.
    private mutating func readCommand() throws(ImportError) -> Bool {
        for (word, isProgram) in [
            ("start", true), ("stop", true), ("restart", true), ("execute", false), ("exec", false),
        ] {
            guard var end = after(word, at: index) else { continue }
            end = skippingBlanks(end)
            if isProgram {
                end = skippingBlanks(after("program", at: end) ?? end)
                end = skippingBlanks(after("=", at: end) ?? end)
            }
            guard isByte("\"", at: end) else { continue }
            let head = text(index..<end).split { $0 == " " || $0 == "\t" }.joined(separator: " ")
            add(.word, word, shown: head, to: end)
            try readArguments()
            return true
        }
        return false
    }

    private mutating func readArguments() throws(ImportError) {
        let open = place
        var mark = "\""
        index += 1
        while true {
            advance(to: end(from: index) { Self.isBlank($0) || $0 == UInt8(ascii: "\n") })
            guard index < bytes.count else { throw ImportError(open, "the quote is never closed") }
            if isByte("\"", at: index) { break }
            var end = end(from: index) { $0 != 0x20 && $0 != 0x09 && $0 != 0x0a && $0 != UInt8(ascii: "\"") }
            var value = text(index..<end)
            if isByte("'", at: index) {
                let close = bytes[(index + 1)...].firstIndex(of: UInt8(ascii: "'")).map { $0 + 1 }
                guard close != nil || end > index + 1 else { throw ImportError(place, "the quote is never closed") }
                if let close, close >= end {
                    value = try unescaped(index..<close)
                    end = close
                }
            }
            add(.argument, value, shown: mark + text(index..<end), to: end)
            mark = ""
        }
        index += 1
        guard let last = tokens.popLast() else { return }
        let shown = last.kind == .argument ? last.shown + "\"" : last.shown + " \"\""
        tokens.append(
            MonitToken(kind: last.kind, text: last.text, shown: shown, isAttached: last.isAttached, place: last.place))
    }

    // MARK: - Names

    private static let types = [
        "process", "program", "device", "filesystem", "file", "directory", "host", "network", "fifo", "system",
    ]

    /// `check process NAME`, `group NAME`, `depends on NAME, NAME` and `include PATTERN`: names are never keywords.
    private mutating func readName() throws(ImportError) -> Bool {
        for word in ["check", "group", "depends", "depend", "include"] {
            guard let end = after(word, at: index), end < bytes.count,
                Self.isBlank(bytes[end]) || word == "include" && !Self.isInWord(bytes[end])
            else { continue }
            let start = skippingBlanks(end)
            switch word {
            case "include":
                let (text, end) =
                    isByte("\"", at: start) || isByte("'", at: start)
                    ? try quoted(start) : bare(start) { !Self.isBlank($0) && $0 != UInt8(ascii: "\n") }
                add(.included, text, shown: self.text(index..<end), to: end)
            case "check":
                add(.word, to: end)
                advance(to: start)
                let type = Self.types.compactMap { type in after(type, at: start) }.first
                if let type, type == bytes.count || !Self.isInWord(bytes[type]) { add(.word, to: type) }
                try addName()
            case "group":
                add(.word, to: end)
                try addName()
            default:
                let on = after("on", at: start).flatMap { $0 < bytes.count && !Self.isInWord(bytes[$0]) ? $0 : nil }
                add(.word, "depends", shown: text(index..<(on ?? end)), to: on ?? end)
                try addNames()
            }
            return true
        }
        return false
    }

    private func bare(_ start: Int, while isPart: (UInt8) -> Bool) -> (text: String, end: Int) {
        let end = end(from: start, while: isPart)
        return (text(start..<end), end)
    }

    private mutating func addName() throws(ImportError) {
        advance(to: end(from: index) { Self.isBlank($0) || $0 == UInt8(ascii: "\n") })
        guard index < bytes.count else { return }
        let isQuoted = isByte("\"", at: index) || isByte("'", at: index)
        let (name, end) = isQuoted ? try quoted(index) : bare(index, while: Self.isInWord)
        guard end > index else { return }
        add(.text, name, shown: text(index..<end), to: end)
    }

    private mutating func addNames() throws(ImportError) {
        while true {
            try addName()
            let next = end(from: index) { Self.isBlank($0) || $0 == UInt8(ascii: "\n") }
            guard isByte(",", at: next) else { return }
            advance(to: end(from: next) { Self.isBlank($0) || ",\n".utf8.contains($0) })
        }
    }

    // MARK: - Phrases

    /// Skips `subject: …` and similar lines of mail formats, which are not tokens.
    private mutating func readRemark(_ end: Int) -> Bool {
        let word = text(index..<end).lowercased()
        guard isByte(":", at: end), ["from", "reply-to", "subject", "message"].contains(word) else { return false }
        let isLong = word == "message"
        add(.text, to: self.end(from: end) { $0 != UInt8(ascii: "}") && (isLong || $0 != UInt8(ascii: "\n")) })
        return true
    }

    /// Reads keywords of two words, or with parentheses.
    private mutating func readPhrase(_ end: Int) -> Bool {
        let word = text(index..<end).lowercased()
        func ends(_ index: Int) -> Bool { index == bytes.count || !Self.isInWord(bytes[index]) }
        switch word {
        case "not":
            guard let every = after("every", at: self.end(from: end) { $0 == 0x20 }), ends(every) else { return false }
            add(.word, "notevery", shown: text(index..<every), to: every)
        case "total":
            let start = isByte(" ", at: end) ? end + 1 : end
            for (second, keyword) in [("memory", "totalmem"), ("mem", "totalmem"), ("cpu", "totalcpu")] {
                guard let after = after(second, at: start), ends(after) else { continue }
                add(.word, keyword, shown: text(index..<after), to: after)
                return true
            }
            return false
        case "http":
            guard let after = after(" headers", at: end), after < bytes.count, Self.isBlank(bytes[after]),
                let close = bytes[after...].firstIndex(of: UInt8(ascii: "]"))
            else { return false }
            add(.word, "headers", shown: text(index..<close + 1), to: close + 1)
        case "loadavg", "cpu":
            let open = self.end(from: end) { $0 == 0x20 }
            guard isByte("(", at: open), let close = bytes[open...].firstIndex(of: UInt8(ascii: ")")) else {
                return false
            }
            add(.word, word, shown: text(index..<close + 1), to: close + 1)
        case "ssl", "disable":
            let other = word == "ssl" ? "disable" : "ssl"
            guard let after = after(other, at: skippingBlanks(end)), ends(after) else { return false }
            advance(to: after)
        default: return false
        }
        return true
    }
}

extension UInt8 {
    fileprivate var isLetterOrDigit: Bool {
        (0x30...0x39).contains(self) || (0x41...0x5a).contains(self) || (0x61...0x7a).contains(self)
    }

    fileprivate var isHexadecimal: Bool {
        (0x30...0x39).contains(self) || (0x41...0x46).contains(self) || (0x61...0x66).contains(self)
    }
}
