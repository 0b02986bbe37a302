// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The members of a JSON object with scalar values: numbers, strings, booleans.
///
/// A nested member has both names: `event.kind`. Arrays and deeper levels are skipped.
struct FlatObject {
    struct SyntaxError: Error {
        /// The error: one sentence without a period.
        let description: String
    }

    private enum Value {
        case string(ArraySlice<UInt8>)
        case word(ArraySlice<UInt8>)
    }

    private var values: [String: Value] = [:]

    init(_ bytes: [UInt8]) throws(SyntaxError) {
        var scanner = JSONScanner(bytes)
        guard let first = scanner.next(), first.kind == .opening, bytes[first.range.lowerBound] == UInt8(ascii: "{")
        else { throw SyntaxError(description: "is not a JSON object") }
        try members(of: nil, &scanner, bytes)
        if let rest = scanner.next() {
            throw SyntaxError(description: "has text after the JSON object, at column \(rest.range.lowerBound + 1)")
        }
    }

    private mutating func members(
        of parent: String?, _ scanner: inout JSONScanner, _ bytes: [UInt8]
    ) throws(SyntaxError) {
        var token = scanner.next()
        if let token, token.kind == .closing, bytes[token.range.lowerBound] == UInt8(ascii: "}") { return }
        while true {
            guard let name = token, name.kind == .string(isWhole: true) else { throw Self.damage(token) }
            let colon = scanner.next()
            guard colon?.kind == .colon else { throw Self.damage(colon) }
            let key = Self.text(bytes[name.range].dropFirst().dropLast())
            try value(of: parent.map { "\($0).\(key)" } ?? key, isNested: parent != nil, &scanner, bytes)
            let next = scanner.next()
            guard next?.kind == .comma else {
                guard let next, next.kind == .closing, bytes[next.range.lowerBound] == UInt8(ascii: "}") else {
                    throw Self.damage(next)
                }
                return
            }
            token = scanner.next()
        }
    }

    private mutating func value(
        of key: String, isNested: Bool, _ scanner: inout JSONScanner, _ bytes: [UInt8]
    ) throws(SyntaxError) {
        let token = scanner.next()
        switch token?.kind {
        case .string(isWhole: true)?:
            if let range = token?.range { values[key] = .string(bytes[range].dropFirst().dropLast()) }
        case .word?:
            if let range = token?.range { values[key] = .word(bytes[range]) }
        case .opening?:
            guard let range = token?.range else { throw Self.damage(token) }
            if !isNested, bytes[range.lowerBound] == UInt8(ascii: "{") {
                return try members(of: key, &scanner, bytes)
            }
            var depth = 1
            while depth > 0 {
                guard let inner = scanner.next() else { throw Self.damage(nil) }
                if inner.kind == .opening { depth += 1 }
                if inner.kind == .closing { depth -= 1 }
            }
        default: throw Self.damage(token)
        }
    }

    private static func damage(_ token: JSONScanner.Token?) -> SyntaxError {
        SyntaxError(
            description: token.map { "is damaged at column \($0.range.lowerBound + 1)" } ?? "ends within an object")
    }

    // MARK: - Members

    /// Whether there is such a member.
    func has(_ key: String) -> Bool { values[key] != nil }

    /// A string; nil for anything else.
    func string(_ key: String) -> String? {
        guard case .string(let bytes)? = values[key] else { return nil }
        return Self.text(bytes)
    }

    /// A whole number, also inside a string; nil for anything else, and for one that does not fit.
    func integer(_ key: String) -> Int64? {
        switch values[key] {
        case .word(let bytes)?, .string(let bytes)?: Int64(String(decoding: bytes, as: UTF8.self))
        case nil: nil
        }
    }

    func boolean(_ key: String) -> Bool? {
        guard case .word(let bytes)? = values[key] else { return nil }
        return bytes.elementsEqual("true".utf8) ? true : bytes.elementsEqual("false".utf8) ? false : nil
    }

    /// Decodes the escapes of a string; RFC 8259, section 7.
    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        guard bytes.contains(UInt8(ascii: "\\")) else { return String(decoding: bytes, as: UTF8.self) }
        var units: [UInt16] = []
        // Work on scalars: a combining mark after an escape would merge with its last character.
        var rest = Substring(decoding: bytes, as: UTF8.self).unicodeScalars
        while let scalar = rest.popFirst() {
            guard scalar == "\\", let escape = rest.popFirst() else {
                units += String(scalar).utf16
                continue
            }
            switch escape {
            case "n": units.append(0x0a)
            case "t": units.append(0x09)
            case "r": units.append(0x0d)
            case "b": units.append(0x08)
            case "f": units.append(0x0c)
            case "u":
                units.append(UInt16(Substring(rest.prefix(4)), radix: 16) ?? 0xfffd)
                rest = rest.dropFirst(4)
            default: units += String(escape).utf16
            }
        }
        return String(decoding: units, as: UTF16.self)
    }
}
