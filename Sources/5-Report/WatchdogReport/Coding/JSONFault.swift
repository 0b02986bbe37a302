// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The position of the first syntax error of a JSON text (RFC 8259), or of a number that is not an integer.
struct JSONFault: Error, Equatable {
    let line: Int
    /// The offset in bytes.
    let offset: Int
    /// The error.
    let what: String

    /// The first fault of a text; nil if the text is JSON and all its numbers are integers.
    static func first(in bytes: [UInt8]) -> JSONFault? {
        var grammar = JSONGrammar(bytes)
        do {
            try grammar.readDocument()
            return nil
        } catch {
            return error
        }
    }
}

/// Checks that a text's tokens form valid JSON.
private struct JSONGrammar {
    /// The nesting limit of JSONDecoder.
    private static let depthLimit = 512

    private let bytes: [UInt8]
    private var scanner: JSONScanner
    private var token: JSONScanner.Token?
    private var depth = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        scanner = JSONScanner(bytes)
        token = scanner.next()
    }

    mutating func readDocument() throws(JSONFault) {
        try readValue()
        guard token == nil else { throw fault("text after the end") }
    }

    private func fault(_ what: String, at offset: Int? = nil) -> JSONFault {
        let offset = offset ?? token?.range.lowerBound ?? bytes.count
        let line = bytes[..<offset].count { $0 == UInt8(ascii: "\n") } + 1
        return JSONFault(
            line: line, offset: offset, what: offset == bytes.count ? "the file ends too early: \(what)" : what)
    }

    /// The opening byte of a bracket or of any other token.
    private var first: UInt8? { token.map { bytes[$0.range.lowerBound] } }

    private mutating func readValue() throws(JSONFault) {
        switch token?.kind {
        case .opening: try readList()
        case .string: try readString()
        case .word: try readWord()
        case .closing, .comma, .colon, nil: throw fault("expected a value")
        }
    }

    private mutating func readList() throws(JSONFault) {
        depth += 1
        guard depth <= Self.depthLimit else { throw fault("nested too deeply") }
        let isObject = first == UInt8(ascii: "{")
        let end = UInt8(ascii: isObject ? "}" : "]")
        token = scanner.next()
        var isDone = first == end
        while !isDone {
            if isObject {
                guard case .string = token?.kind else { throw fault("expected a key") }
                try readString()
                guard token?.kind == .colon else { throw fault("expected a colon") }
                token = scanner.next()
            }
            try readValue()
            isDone = first == end
            guard isDone || token?.kind == .comma else {
                throw fault("expected a comma or the \(isObject ? "object's" : "array's") end")
            }
            if !isDone { token = scanner.next() }
        }
        token = scanner.next()
        depth -= 1
    }

    private mutating func readString() throws(JSONFault) {
        guard let token, case .string(let isWhole) = token.kind else { return }
        if let control = bytes[token.range].firstIndex(where: { $0 < 0x20 }) {
            throw fault("control character in a string", at: control)
        }
        guard isWhole else { throw fault("string without an end", at: bytes.count) }
        guard String(validating: bytes[token.range], as: UTF8.self) != nil else { throw fault("string is not UTF-8") }
        self.token = scanner.next()
    }

    private mutating func readWord() throws(JSONFault) {
        guard let token else { return }
        let word = bytes[token.range]
        switch word.first {
        case UInt8(ascii: "t"): try expect("true", word)
        case UInt8(ascii: "f"): try expect("false", word)
        case UInt8(ascii: "n"): try expect("null", word)
        case let byte? where byte == UInt8(ascii: "-") || byte.isDigit: try checkNumber(word)
        default: throw fault("expected a value")
        }
        self.token = scanner.next()
    }

    private func expect(_ expected: String, _ word: ArraySlice<UInt8>) throws(JSONFault) {
        guard word.elementsEqual(expected.utf8) else { throw fault("expected \(expected)") }
    }

    private func checkNumber(_ word: ArraySlice<UInt8>) throws(JSONFault) {
        let unsigned = word.first == UInt8(ascii: "-") ? word.dropFirst() : word
        let digits = unsigned.prefix { $0.isDigit }
        guard let first = digits.first else { throw fault("expected a digit", at: unsigned.startIndex) }
        guard digits.endIndex == word.endIndex else {
            if ".eE".utf8.contains(word[digits.endIndex]) { throw fault("number is not an integer") }
            throw fault("expected a digit", at: digits.endIndex)
        }
        guard first != UInt8(ascii: "0") || digits.count == 1 else { throw fault("number begins with 0") }
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}
