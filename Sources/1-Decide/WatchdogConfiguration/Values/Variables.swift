// SPDX-License-Identifier: Apache-2.0

/// Variables in the arguments of commands: "COMMAND LINES" in systemd.service(5).
enum Variables {
    /// ASCII letters, digits and `_`, not starting with a digit.
    static func isName(_ text: some StringProtocol) -> Bool {
        guard let first = text.utf8.first, !first.isDigit else { return false }
        return text.utf8.allSatisfy { $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "_") }
    }

    /// Whether a text can be a variable's value: like systemd, rejects control characters.
    static func isValue(_ text: some StringProtocol) -> Bool {
        text.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7f) || $0 == 0x09 || $0 == 0x0a }
    }

    /// The name in a word that is `$NAME` as a whole; nil for any other word.
    static func name(ofWord word: String) -> String? {
        guard word.hasPrefix("$"), !word.hasPrefix("${"), !word.hasPrefix("$$") else { return nil }
        return String(word.dropFirst())
    }

    /// A piece of an argument.
    enum Piece: Equatable {
        case text([UInt8])
        /// `${NAME}`, with the offset of its `$`.
        case variable(String, offset: Int)
    }

    /// Splits an argument at each `${NAME}` and replaces `$$` by `$`.
    ///
    /// `${NAME:` starts shell syntax, which systemd passes on unchanged; so does an unclosed brace.
    static func pieces(of argument: String) -> [Piece] {
        let bytes = Array(argument.utf8)
        var pieces: [Piece] = []
        var text: [UInt8] = []
        var index = 0
        // Avoids repeated searches when no "}" follows.
        let lastBrace = bytes.lastIndex(of: UInt8(ascii: "}")) ?? -1
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "$"), index + 1 < bytes.count else {
                text.append(bytes[index])
                index += 1
                continue
            }
            if bytes[index + 1] == UInt8(ascii: "$") {
                text.append(UInt8(ascii: "$"))
                index += 2
                continue
            }
            guard bytes[index + 1] == UInt8(ascii: "{"), index < lastBrace,
                let end = bytes[index...].firstIndex(where: { $0 == UInt8(ascii: "}") || $0 == UInt8(ascii: ":") }),
                bytes[end] == UInt8(ascii: "}")
            else {
                text.append(bytes[index])
                index += 1
                continue
            }
            if !text.isEmpty { pieces.append(.text(text)) }
            text = []
            pieces.append(.variable(String(decoding: bytes[(index + 2)..<end], as: UTF8.self), offset: index))
            index = end + 1
        }
        if !text.isEmpty { pieces.append(.text(text)) }
        return pieces
    }

    static func replaced(in argument: String, _ environment: (String) -> String?) -> String {
        guard argument.utf8.contains(UInt8(ascii: "$")) else { return argument }
        var result: [UInt8] = []
        for piece in pieces(of: argument) {
            switch piece {
            case .text(let bytes): result += bytes
            case .variable(let name, _): result += (environment(name) ?? "").utf8
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Splits a variable's value at blanks; quotes keep words together, and an unclosed quote extends to the end.
    static func words(of value: String) -> [String] {
        var words: [String] = []
        var word: [UInt8] = []
        var isInWord = false
        var quote: UInt8?
        var isEscaped = false
        for byte in value.utf8 {
            if byte.isBlank, quote == nil, !isEscaped {
                if isInWord { words.append(String(decoding: word, as: UTF8.self)) }
                word = []
                isInWord = false
                continue
            }
            isInWord = true
            if isEscaped {
                word.append(byte)
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == quote {
                quote = nil
            } else if quote == nil, byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else {
                word.append(byte)
            }
        }
        if isInWord { words.append(String(decoding: word, as: UTF8.self)) }
        return words
    }
}
