// SPDX-License-Identifier: Apache-2.0

/// A word of a script.
struct ShellWord: Equatable {
    /// The source text, without line continuations.
    var text = ""
    /// The text without its quotes; nil if it contains expansions.
    var value: String? = ""
    /// Whether it has neither quotes nor expansions: only then it can be a reserved word.
    var isPlain = true
    /// Whether it has quotes, so that expansions in it are not split into words.
    var isQuoted = false
}

/// Splits a script into words and operators: POSIX.1-2017, XCU 2.3, and bash's extensions.
struct ShellLexer {
    struct Unreadable: Error {}

    enum Token: Equatable {
        case word(ShellWord)
        /// `>`, `2>&`, `<<-`: a word follows.
        case redirection
        /// Any other operator, or a line break.
        case mark(String)
        case end
    }

    /// The maximum nesting depth, because the lexer is recursive.
    private static let maximumDepth = 50

    private let bytes: [UInt8]
    private let isBash: Bool
    private var index = 0
    private var depth = 0
    /// The pending here-documents, with their end markers.
    private var hereDocuments: [(end: String, isIndented: Bool)] = []
    /// Set between `<<` and its word.
    private var opensHereDocument: (isIndented: Bool, Void)?

    init(_ script: [UInt8], isBash: Bool) {
        bytes = script
        self.isBash = isBash
    }

    private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

    private func follows(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { bytes[index...].starts(with: $0) }
    }

    private mutating func skip(_ text: StaticString) -> Bool {
        guard follows(text) else { return false }
        index += text.utf8CodeUnitCount
        return true
    }

    /// The next word or operator.
    ///
    /// - Throws: ``Unreadable`` for a quote, bracket or substitution that is not closed.
    mutating func token() throws(Unreadable) -> Token {
        while next == 0x20 || next == 0x09 || follows("\\\n") { index += next == UInt8(ascii: "\\") ? 2 : 1 }
        guard let byte = next else { return .end }
        switch byte {
        case UInt8(ascii: "#"):
            index = bytes[index...].firstIndex(of: 0x0a) ?? bytes.count
            return try token()
        case 0x0a:
            index += 1
            skipHereDocuments()
            return .mark("\n")
        default: break
        }
        if !follows("<("), !follows(">("), let token = mark() { return token }
        return try word()
    }

    // MARK: - Operators

    private mutating func mark() -> Token? {
        if isBash, skip("&>>") || skip("&>") { return .redirection }
        for (text, token) in Self.marks where skip(text) {
            if token == .redirection, "\(text)".hasPrefix("<<"), "\(text)" != "<<<" {
                opensHereDocument = ("\(text)" == "<<-", ())
            }
            return token
        }
        return nil
    }

    private static let marks: [(StaticString, Token)] = [
        ("&&", .mark("&&")), ("||", .mark("||")), (";;&", .mark(";;")), (";;", .mark(";;")), (";&", .mark(";;")),
        ("|&", .mark("|")), ("|", .mark("|")), ("&", .mark("&")), (";", .mark(";")), ("(", .mark("(")),
        (")", .mark(")")), ("<<<", .redirection), ("<<-", .redirection), ("<<", .redirection), ("<&", .redirection),
        ("<>", .redirection), ("<", .redirection), (">>", .redirection), (">&", .redirection), (">|", .redirection),
        (">", .redirection),
    ]

    private mutating func skipHereDocuments() {
        for document in hereDocuments {
            while index < bytes.count {
                let end = bytes[index...].firstIndex(of: 0x0a) ?? bytes.count
                var line = bytes[index..<end]
                if document.isIndented { line = line.drop { $0 == 0x09 } }
                index = min(end + 1, bytes.count)
                if line.elementsEqual(document.end.utf8) { break }
            }
        }
        hereDocuments = []
    }

    // MARK: - Words

    private mutating func word() throws(Unreadable) -> Token {
        var word = ShellWord()
        let start = index
        while let byte = next {
            switch byte {
            case 0x20, 0x09, 0x0a, UInt8(ascii: ";"), UInt8(ascii: "&"), UInt8(ascii: "|"), UInt8(ascii: ")"):
                return finished(word)
            case UInt8(ascii: "<"), UInt8(ascii: ">"):
                // A process substitution of bash.
                if index == start, index + 1 < bytes.count, bytes[index + 1] == UInt8(ascii: "(") {
                    index += 2
                    try expansion(&word) { (lexer) throws(Unreadable) in try lexer.skipSubstitution() }
                    continue
                }
                // The number or name of the descriptor is part of the operator.
                let isName = word.text.hasPrefix("{") && word.text.hasSuffix("}")
                if word.isPlain, isName || word.text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let mark = mark()
                {
                    return mark
                }
                return finished(word)
            case UInt8(ascii: "("):
                // An array assignment of bash.
                guard word.isPlain, word.text.hasSuffix("=") else { return finished(word) }
                index += 1
                try expansion(&word) { (lexer) throws(Unreadable) in try lexer.skipSubstitution() }
            default: try part(byte, &word)
            }
        }
        return finished(word)
    }

    private mutating func finished(_ word: ShellWord) -> Token {
        if let document = opensHereDocument {
            hereDocuments.append((word.value ?? word.text, document.isIndented))
            opensHereDocument = nil
        }
        return .word(word)
    }

    /// Consumes a quote, an expansion or a plain byte.
    private mutating func part(_ byte: UInt8, _ word: inout ShellWord) throws(Unreadable) {
        switch byte {
        case UInt8(ascii: "\\"):
            index += 1
            guard let escaped = next else { return append([byte], &word) }
            index += 1
            guard escaped != 0x0a else { return }
            word.isPlain = false
            append([escaped], &word)
        case UInt8(ascii: "'"):
            guard let close = bytes[(index + 1)...].firstIndex(of: byte) else { throw Unreadable() }
            word.isPlain = false
            word.isQuoted = true
            append(bytes[(index + 1)..<close], &word)
            index = close + 1
        case UInt8(ascii: "\""): try doubleQuoted(&word)
        case UInt8(ascii: "`"): try expansion(&word) { (lexer) throws(Unreadable) in try lexer.skipBackquoted() }
        case UInt8(ascii: "$"): try dollar(&word)
        default:
            index += 1
            append([byte], &word)
        }
    }

    private func append(_ bytes: some Sequence<UInt8>, _ word: inout ShellWord) {
        let text = String(decoding: Array(bytes), as: UTF8.self)
        word.text += text
        word.value? += text
    }

    private mutating func doubleQuoted(_ word: inout ShellWord) throws(Unreadable) {
        index += 1
        word.isPlain = false
        word.isQuoted = true
        while let byte = next, byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "\\"), index + 1 < bytes.count, !"$`\"\\\n".utf8.contains(bytes[index + 1]) {
                index += 1
                append([byte], &word)
            } else if byte == UInt8(ascii: "'") {
                index += 1
                append([byte], &word)
            } else {
                try part(byte, &word)
            }
        }
        guard next != nil else { throw Unreadable() }
        index += 1
    }

    private mutating func dollar(_ word: inout ShellWord) throws(Unreadable) {
        if follows("$((") {
            try expansion(&word) { (lexer) throws(Unreadable) in try lexer.skipArithmetic() }
        } else if skip("$(") {
            try expansion(&word) { (lexer) throws(Unreadable) in try lexer.skipSubstitution() }
        } else if skip("${") {
            try expansion(&word) { (lexer) throws(Unreadable) in
                var inner = ShellWord()
                while lexer.next != UInt8(ascii: "}") {
                    guard let byte = lexer.next else { throw Unreadable() }
                    try lexer.part(byte, &inner)
                }
                lexer.index += 1
            }
        } else {
            index += 1
            word.text += "$"
            word.value = nil
            word.isPlain = false
        }
    }

    /// Skips an expansion, and keeps its source text.
    private mutating func expansion(
        _ word: inout ShellWord, _ skip: (inout ShellLexer) throws(Unreadable) -> Void
    ) throws(Unreadable) {
        let start = index
        guard depth < Self.maximumDepth else { throw Unreadable() }
        depth += 1
        try skip(&self)
        depth -= 1
        word.text += "$" + String(decoding: bytes[start..<index], as: UTF8.self)
        word.value = nil
        word.isPlain = false
    }

    private mutating func skipBackquoted() throws(Unreadable) {
        index += 1
        while let byte = next, byte != UInt8(ascii: "`") { index += byte == UInt8(ascii: "\\") ? 2 : 1 }
        guard index < bytes.count else { throw Unreadable() }
        index += 1
    }

    private mutating func skipArithmetic() throws(Unreadable) {
        var open = 0
        while let byte = next {
            if byte == UInt8(ascii: "(") { open += 1 }
            if byte == UInt8(ascii: ")") { open -= 1 }
            index += 1
            if open == 0, byte == UInt8(ascii: ")") { return }
        }
        throw Unreadable()
    }

    /// Skips to the parenthesis that closes the current one.
    private mutating func skipSubstitution() throws(Unreadable) {
        var open = 0
        var cases = 0
        while true {
            switch try token() {
            case .end: throw Unreadable()
            case .mark("("): open += 1
            case .mark(")"):
                if open > 0 {
                    open -= 1
                } else if cases == 0 {
                    return
                }
            case .word(let word) where word.isPlain && word.text == "case": cases += 1
            case .word(let word) where word.isPlain && word.text == "esac": cases = max(0, cases - 1)
            default: break
            }
        }
    }
}
