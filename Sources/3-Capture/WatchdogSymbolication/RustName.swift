// SPDX-License-Identifier: Apache-2.0

/// A Rust symbol of the newer scheme (`_R…`), as the Rust reference describes it under "v0 Symbol Format".
///
/// The readable form omits details that the older scheme does not encode: hashes of crates, lifetimes, and the generic
/// arguments of functions.
struct RustName {
    private struct Malformed: Error {}

    /// The file determines the length of a name, and back references repeat parts, so the depth, the steps and the
    /// output are all limited.
    private static let depthLimit = 96
    private static let stepLimit = 4_096
    private static let textLimit = 2_048

    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0
    private var steps = 0
    private var text = ""
    private var isSilent = false

    /// The readable form; nil for any other name.
    static func demangle(_ name: String) -> String? {
        guard name.hasPrefix("_R"), name.utf8.count <= 1 << 16 else { return nil }
        var bytes = Array(name.utf8.dropFirst(2))
        if let end = bytes.firstIndex(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "$") }) {
            bytes.removeSubrange(end...)
        }
        // A number here would be the version of a later scheme.
        guard let first = bytes.first, isUppercase(first) else { return nil }
        var parser = RustName(bytes: bytes)
        do {
            try parser.path()
            if parser.position < bytes.count {
                parser.isSilent = true
                try parser.path()
            }
            guard parser.position == bytes.count else { return nil }
            return parser.text
        } catch {
            return nil
        }
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    // MARK: - Paths

    /// - Parameter isType: whether the path names a type, whose generic arguments are part of its name.
    private mutating func path(isType: Bool = false) throws(Malformed) {
        try enter()
        defer { depth -= 1 }
        switch try next() {
        case "C": try print(identifier().name)
        case "M":
            try implementation()
            try type()
        case "X":
            try implementation()
            try qualified()
        case "Y": try qualified()
        case "N":
            let namespace = try next()
            try path()
            let (name, number) = try identifier()
            switch namespace {
            case "C": try print("::{closure" + (name.isEmpty ? "" : ":\(name)") + "#\(number)}")
            case "S": try print("::{shim" + (name.isEmpty ? "" : ":\(name)") + "#\(number)}")
            default:
                guard namespace.isLowercase || namespace.isUppercase else { throw Malformed() }
                if !name.isEmpty { try print("::" + name) }
            }
        case "I":
            let isType =
                isType || (peek == "N" && position + 1 < bytes.count && bytes[position + 1] == UInt8(ascii: "t"))
            try path(isType: isType)
            if isType {
                try list("<", ">") { parser throws(Malformed) in try parser.argument() }
            } else {
                try silently { parser throws(Malformed) in
                    try parser.list("", "") { parser throws(Malformed) in try parser.argument() }
                }
            }
        case "B": try backReference { parser throws(Malformed) in try parser.path(isType: isType) }
        default: throw Malformed()
        }
    }

    /// Skips the path of an `impl`, which adds little to its type.
    private mutating func implementation() throws(Malformed) {
        try silently { parser throws(Malformed) in
            _ = try parser.disambiguator()
            try parser.path()
        }
    }

    private mutating func qualified() throws(Malformed) {
        try print("<")
        try type()
        try print(" as ")
        try path(isType: true)
        try print(">")
    }

    private mutating func identifier() throws(Malformed) -> (name: String, number: UInt64) {
        let number = try disambiguator()
        return (try plainIdentifier(), number)
    }

    private mutating func plainIdentifier() throws(Malformed) -> String {
        let isPunycode = take("u")
        guard let first = peek, first.isNumber else { throw Malformed() }
        var length = 0
        if !take("0") {
            while let digit = peek?.wholeNumberValue {
                length = length * 10 + digit
                guard length <= bytes.count else { throw Malformed() }
                position += 1
            }
        }
        _ = take("_")
        guard position + length <= bytes.count else { throw Malformed() }
        let part = bytes[position..<position + length]
        position += length
        if isPunycode { return Punycode.decode(part) ?? String(decoding: part, as: UTF8.self) }
        return String(decoding: part, as: UTF8.self)
    }

    private mutating func disambiguator() throws(Malformed) -> UInt64 {
        guard take("s") else { return 0 }
        return try number() &+ 1
    }

    // MARK: - Types, constants

    private static let basic: [Character: String] = [
        "a": "i8", "b": "bool", "c": "char", "d": "f64", "e": "str", "f": "f32", "h": "u8", "i": "isize", "j": "usize",
        "l": "i32", "m": "u32", "n": "i128", "o": "u128", "s": "i16", "t": "u16", "u": "()", "v": "...", "x": "i64",
        "y": "u64", "z": "!", "p": "_",
    ]

    private mutating func type() throws(Malformed) {
        try enter()
        defer { depth -= 1 }
        let mark = position
        let letter = try next()
        if let name = Self.basic[letter] { return try print(name) }
        switch letter {
        case "A":
            try print("[")
            try type()
            try print("; ")
            try constant()
            try print("]")
        case "S":
            try print("[")
            try type()
            try print("]")
        case "T": try list("(", ")") { parser throws(Malformed) in try parser.type() }
        case "R", "Q":
            if take("L") { _ = try number() }
            try print(letter == "R" ? "&" : "&mut ")
            try type()
        case "P", "O":
            try print(letter == "P" ? "*const " : "*mut ")
            try type()
        case "F": try function()
        case "D": try dynamic()
        case "B": try backReference { parser throws(Malformed) in try parser.type() }
        default:
            position = mark
            try path(isType: true)
        }
    }

    private mutating func function() throws(Malformed) {
        if take("G") { _ = try number() }
        if take("U") { try print("unsafe ") }
        if take("K") {
            if !take("C") { _ = try plainIdentifier() }
            try print("extern ")
        }
        try list("fn(", ")") { parser throws(Malformed) in try parser.type() }
        if take("u") { return }
        try print(" -> ")
        try type()
    }

    private mutating func dynamic() throws(Malformed) {
        if take("G") { _ = try number() }
        try print("dyn ")
        var isFirst = true
        while !take("E") {
            if !isFirst { try print(" + ") }
            isFirst = false
            try path(isType: true)
            while take("p") {
                let name = try plainIdentifier()
                try print(", \(name) = ")
                try type()
            }
        }
        guard take("L") else { throw Malformed() }
        _ = try number()
    }

    private mutating func argument() throws(Malformed) {
        if take("L") {
            _ = try number()
            try print("'_")
        } else if take("K") {
            try constant()
        } else {
            try type()
        }
    }

    private mutating func constant() throws(Malformed) {
        try enter()
        defer { depth -= 1 }
        switch try next() {
        case "p": try print("_")
        case "B": try backReference { parser throws(Malformed) in try parser.constant() }
        case let kind where "abchijlmnostxy".contains(kind):
            let sign = take("n") ? "-" : ""
            var value: UInt64? = 0
            var digits = ""
            while let digit = peek?.hexDigitValue {
                value = value.flatMap { $0 >> 60 == 0 ? $0 << 4 | UInt64(digit) : nil }
                digits.append(peek ?? "0")
                position += 1
            }
            guard take("_") else { throw Malformed() }
            switch kind {
            case "b": try print(value == 0 ? "false" : "true")
            case "c": try print("'\\u{\(digits)}'")
            default: try print(sign + (value.map(String.init) ?? "0x\(digits)"))
            }
        default: throw Malformed()
        }
    }

    // MARK: - Parts

    private var peek: Character? { position < bytes.count ? Character(Unicode.Scalar(bytes[position])) : nil }

    private mutating func next() throws(Malformed) -> Character {
        guard let letter = peek else { throw Malformed() }
        position += 1
        return letter
    }

    private mutating func take(_ letter: Character) -> Bool {
        guard peek == letter else { return false }
        position += 1
        return true
    }

    private mutating func enter() throws(Malformed) {
        steps += 1
        guard depth < Self.depthLimit, steps < Self.stepLimit else { throw Malformed() }
        depth += 1
    }

    private mutating func print(_ words: String) throws(Malformed) {
        guard !isSilent else { return }
        text += words
        guard text.utf8.count <= Self.textLimit else { throw Malformed() }
    }

    private mutating func silently(
        _ body: (inout RustName) throws(Malformed) -> Void
    ) throws(Malformed) {
        let before = isSilent
        isSilent = true
        try body(&self)
        isSilent = before
    }

    private mutating func list(
        _ opening: String, _ closing: String, _ element: (inout RustName) throws(Malformed) -> Void
    ) throws(Malformed) {
        try print(opening)
        var isFirst = true
        while !take("E") {
            if !isFirst { try print(", ") }
            isFirst = false
            try element(&self)
        }
        try print(closing)
    }

    /// Decodes a back reference, which repeats an earlier part of the name.
    private mutating func backReference(
        _ body: (inout RustName) throws(Malformed) -> Void
    ) throws(Malformed) {
        let mark = position - 1
        let target = try number()
        guard target < UInt64(mark) else { throw Malformed() }
        guard !isSilent else { return }
        let after = position
        position = Int(target)
        try body(&self)
        position = after
    }

    /// A number in base 62: `_` is 0, `0_` is 1.
    private mutating func number() throws(Malformed) -> UInt64 {
        if take("_") { return 0 }
        var value: UInt64 = 0
        while let byte = position < bytes.count ? bytes[position] : nil, byte != UInt8(ascii: "_") {
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): digit = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit = byte - UInt8(ascii: "A") + 36
            default: throw Malformed()
            }
            let (product, hasOverflown) = value.multipliedReportingOverflow(by: 62)
            guard !hasOverflown, product <= .max - UInt64(digit) - 1 else { throw Malformed() }
            value = product + UInt64(digit)
            position += 1
        }
        guard take("_") else { throw Malformed() }
        return value + 1
    }

    private static func isUppercase(_ byte: UInt8) -> Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) }
}
