// SPDX-License-Identifier: Apache-2.0

/// A word without its quotes and escapes.
struct Word {
    var bytes: [UInt8] = []
    /// The source offset of each byte.
    var origins: [Int] = []
    /// The place of the word in the source.
    var range: Range<Int>
    /// Backslashes that start no known escape sequence, and are kept.
    var unknownEscapes: [Int] = []

    fileprivate mutating func append(_ byte: UInt8, from origin: Int) {
        bytes.append(byte)
        origins.append(origin)
    }

    /// An error at a byte of the unescaped word, moved to the source.
    func error(_ error: ValueError) -> ValueError {
        var moved = error
        moved.offset = origins.indices.contains(error.offset) ? origins[error.offset] : range.lowerBound
        return moved
    }

    /// An error that concerns the whole word.
    func error(_ message: String, suggestion: String? = nil) -> ValueError {
        ValueError(message: message, offset: range.lowerBound, length: range.count, suggestion: suggestion)
    }
}

/// Splits a value into words, by the rules of `ExecStart=` and `Environment=`: "QUOTING" in systemd.syntax(7).
///
/// As in systemd, and unlike that page, quotes may begin and end within a word: `a"b c"d` is the word `ab cd`.
struct WordReader {
    let text: SourceText
    private(set) var index = 0

    init(_ text: SourceText) {
        self.text = text
        skipBlanks()
    }

    var isAtEnd: Bool { index == text.count }

    private mutating func skipBlanks() {
        while index < text.count, text[index].isBlank { index += 1 }
    }

    /// Skips `mark` if it is here as a separate, unquoted word; returns whether it was.
    mutating func skip(_ mark: String) -> Bool {
        let end = index + mark.utf8.count
        guard end <= text.count, text[index..<end].bytes.elementsEqual(mark.utf8) else { return false }
        guard end == text.count || text[end].isBlank else { return false }
        index = end
        skipBlanks()
        return true
    }

    /// The next word; nil at the end.
    mutating func next() throws(ValueError) -> Word? {
        guard index < text.count else { return nil }
        let start = index
        var word = Word(range: start..<start)
        var quote: (mark: UInt8, index: Int)?
        while index < text.count {
            let byte = text[index]
            if byte == UInt8(ascii: "\\") {
                try readEscape(into: &word)
            } else if let open = quote {
                if byte == open.mark { quote = nil } else { word.append(byte, from: index) }
                index += 1
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = (byte, index)
                index += 1
            } else if byte.isBlank {
                break
            } else {
                word.append(byte, from: index)
                index += 1
            }
        }
        if let quote { throw ValueError(message: "the quote that opens here is never closed", offset: quote.index) }
        word.range = start..<index
        skipBlanks()
        guard String(validating: word.bytes, as: UTF8.self) != nil else {
            throw word.error("the escapes in this word make no UTF-8")
        }
        return word
    }

    private mutating func readEscape(into word: inout Word) throws(ValueError) {
        let start = index
        guard start + 1 < text.count else {
            throw ValueError(
                message: "the value ends in a backslash; it continues the line only as the last character of a line",
                offset: start)
        }
        guard let (bytes, length) = EscapeSequence.read(text, at: start + 1) else {
            // As in systemd, the backslash is kept.
            word.unknownEscapes.append(start)
            word.append(UInt8(ascii: "\\"), from: start)
            word.append(text[start + 1], from: start + 1)
            index += 2
            return
        }
        for byte in bytes { word.append(byte, from: start) }
        index += 1 + length
    }
}

/// Escape sequences after a backslash: the table in systemd.syntax(7).
private enum EscapeSequence {
    private static let letters: [UInt8: UInt8] = [
        UInt8(ascii: "a"): 0x07, UInt8(ascii: "b"): 0x08, UInt8(ascii: "f"): 0x0c, UInt8(ascii: "n"): 0x0a,
        UInt8(ascii: "r"): 0x0d, UInt8(ascii: "t"): 0x09, UInt8(ascii: "v"): 0x0b, UInt8(ascii: "s"): 0x20,
        UInt8(ascii: "\\"): UInt8(ascii: "\\"), UInt8(ascii: "\""): UInt8(ascii: "\""),
        UInt8(ascii: "'"): UInt8(ascii: "'"),
    ]

    /// The bytes of a sequence and its length without the backslash; nil if it is invalid.
    static func read(_ text: SourceText, at start: Int) -> (bytes: [UInt8], length: Int)? {
        let first = text[start]
        if let byte = letters[first] { return ([byte], 1) }
        switch first {
        case UInt8(ascii: "x"): return byte(text, at: start + 1, digits: 2, radix: 16).map { ([$0], 3) }
        case UInt8(ascii: "0")...UInt8(ascii: "7"):
            return byte(text, at: start, digits: 3, radix: 8).map { ([$0], 3) }
        case UInt8(ascii: "u"): return scalar(text, at: start + 1, digits: 4).map { ($0, 5) }
        case UInt8(ascii: "U"): return scalar(text, at: start + 1, digits: 8).map { ($0, 9) }
        default: return nil
        }
    }

    private static func byte(_ text: SourceText, at start: Int, digits: Int, radix: Int) -> UInt8? {
        number(text, at: start, digits: digits, radix: radix).flatMap { UInt8(exactly: $0) }
    }

    private static func scalar(_ text: SourceText, at start: Int, digits: Int) -> [UInt8]? {
        guard let number = number(text, at: start, digits: digits, radix: 16), let scalar = Unicode.Scalar(number)
        else { return nil }
        return Array(UTF8.encode(scalar) ?? .init())
    }

    /// Exactly this many digits; never NUL, which no argument can hold.
    private static func number(_ text: SourceText, at start: Int, digits: Int, radix: Int) -> UInt32? {
        guard start + digits <= text.count else { return nil }
        var number: UInt32 = 0
        for index in start..<(start + digits) {
            guard let digit = Character(Unicode.Scalar(text[index])).hexDigitValue, digit < radix else { return nil }
            // At most eight hexadecimal digits, so it fits.
            number = number * UInt32(radix) + UInt32(digit)
        }
        return number == 0 ? nil : number
    }
}
