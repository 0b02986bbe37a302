// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Reads JSON tokens in their most common form.
struct PlainReader {
    private let bytes: [UInt8]
    private var scanner: JSONScanner
    private var token: JSONScanner.Token?

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        scanner = JSONScanner(bytes)
        token = scanner.next()
    }

    var isAtEnd: Bool { token == nil }

    /// Skips the next token if it has exactly this text.
    mutating func skips(_ text: StaticString) -> Bool {
        guard let token, text.utf8CodeUnitCount == token.range.count else { return false }
        let isEqual = text.withUTF8Buffer { $0.elementsEqual(bytes[token.range]) }
        if isEqual { self.token = scanner.next() }
        return isEqual
    }

    /// Takes the next token if it is a whole number above zero.
    mutating func number() -> Int32? {
        guard let token, case .word = token.kind, bytes[token.range.lowerBound] != UInt8(ascii: "0"),
            bytes[token.range].allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = Int32(String(decoding: bytes[token.range], as: UTF8.self))
        else { return nil }
        self.token = scanner.next()
        return number
    }

    /// Takes the next token if it is a truth value.
    mutating func truth() -> Bool? {
        if skips("true") { return true }
        return skips("false") ? false : nil
    }

    /// Takes the next token if it is a string of printable ASCII characters without escapes.
    mutating func text() -> String? {
        guard let token, case .string(isWhole: true) = token.kind else { return nil }
        let text = bytes[token.range].dropFirst().dropLast()
        guard text.allSatisfy({ $0 > 0x1f && $0 < 0x7f && $0 != UInt8(ascii: "\\") }) else { return nil }
        self.token = scanner.next()
        return String(decoding: text, as: UTF8.self)
    }
}
