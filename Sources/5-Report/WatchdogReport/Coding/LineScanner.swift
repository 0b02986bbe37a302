// SPDX-License-Identifier: Apache-2.0

/// The reason why a line is not an incident.
package struct LineFault: Error, Equatable {
    /// The reason, as the end of a sentence: `it is cut off`.
    package let reason: String

    /// Creates a fault.
    package init(reason: String) { self.reason = reason }
}

/// A position in the bytes of one JSON object (RFC 8259), which the caller passes to every call.
///
/// For lines that are read by the hundred thousand: it keeps nothing, cuts long texts and skips what nobody asks for without
/// judging it. Scanning 200,000 lines (91 MB) with `JSONScanner`, which yields every token to callers that judge or mend
/// a text, takes 0.24 s instead of 0.08 s of CPU time, out of 0.7 s for reading them (docs/organizer.md).
package struct LineScanner {
    /// The maximum length of a text, in bytes; longer ones are cut.
    package static let textBytes = 512
    /// The maximum nesting depth of a skipped value.
    private static let depth = 64

    package private(set) var offset = 0

    /// Creates a scanner at the first byte.
    package init() {}

    private static func fault(_ reason: String) -> LineFault { LineFault(reason: reason) }

    package mutating func skipBlanks(_ bytes: Span<UInt8>) {
        while offset < bytes.count {
            switch bytes[offset] {
            case 0x20, 0x09, 0x0d: offset += 1
            default: return
            }
        }
    }

    /// The next byte that is not a blank; nil at the end.
    package mutating func peek(_ bytes: Span<UInt8>) -> UInt8? {
        skipBlanks(bytes)
        return offset < bytes.count ? bytes[offset] : nil
    }

    /// Consumes the next byte if it is this one; returns whether it was.
    package mutating func take(_ byte: UInt8, _ bytes: Span<UInt8>) -> Bool {
        guard peek(bytes) == byte else { return false }
        offset += 1
        return true
    }

    /// The bytes of a string without the quotes, and whether it has escapes.
    package typealias RawString = (range: Range<Int>, isEscaped: Bool)

    /// Consumes an object; the closure gets the name of each member, and consumes its value.
    package mutating func members(
        _ bytes: Span<UInt8>, _ member: (_ name: RawString, _ scanner: inout LineScanner) throws(LineFault) -> Void
    ) throws(LineFault) {
        guard take(UInt8(ascii: "{"), bytes) else { throw Self.fault("it is not a JSON object") }
        if take(UInt8(ascii: "}"), bytes) { return }
        repeat {
            let name = try string(bytes)
            guard take(UInt8(ascii: ":"), bytes) else { throw Self.fault("it is not a JSON object") }
            try member(name, &self)
        } while take(UInt8(ascii: ","), bytes)
        guard take(UInt8(ascii: "}"), bytes) else { throw Self.fault("it is cut off") }
    }

    /// Consumes a string.
    package mutating func string(_ bytes: Span<UInt8>) throws(LineFault) -> RawString {
        guard let first = peek(bytes) else { throw Self.fault("it is cut off") }
        guard first == UInt8(ascii: "\"") else { throw Self.fault("it is not a JSON object") }
        offset += 1
        let start = offset
        var isEscaped = false
        while offset < bytes.count {
            let byte = bytes[offset]
            if byte == UInt8(ascii: "\"") {
                offset += 1
                return (start..<(offset - 1), isEscaped)
            }
            if byte == UInt8(ascii: "\\") {
                isEscaped = true
                offset += 1
            }
            offset += 1
        }
        throw Self.fault("it is cut off")
    }

    /// Consumes a string and returns its text.
    package mutating func text(_ bytes: Span<UInt8>) throws(LineFault) -> String {
        if let first = peek(bytes), first != UInt8(ascii: "\"") {
            throw Self.fault("it has another value where text belongs")
        }
        let (range, isEscaped) = try string(bytes)
        if isEscaped { return try Self.unescaped(bytes, range) }
        return try Self.text(bytes, range)
    }

    /// Consumes a whole number; a fraction is truncated.
    package mutating func integer(_ bytes: Span<UInt8>) throws(LineFault) -> Int64 {
        skipBlanks(bytes)
        let isNegative = take(UInt8(ascii: "-"), bytes)
        var value: Int64 = 0
        var digits = 0
        while offset < bytes.count, (0x30...0x39).contains(bytes[offset]) {
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, isTooLarge) = product.addingReportingOverflow(Int64(bytes[offset] - 0x30))
            guard !overflow, !isTooLarge else { throw Self.fault("it has a number that is too large") }
            value = sum
            digits += 1
            offset += 1
        }
        guard digits > 0 else { throw Self.fault("it has text where a number belongs") }
        while offset < bytes.count, !Self.endsWord(bytes[offset]) { offset += 1 }
        return isNegative ? -value : value
    }

    /// Consumes an array; returns its first strings.
    package mutating func texts(_ bytes: Span<UInt8>, atMost limit: Int) throws(LineFault) -> [String] {
        var texts: [String] = []
        guard take(UInt8(ascii: "["), bytes) else { throw Self.fault("its frames are no array") }
        if take(UInt8(ascii: "]"), bytes) { return [] }
        repeat {
            if texts.count < limit, peek(bytes) == UInt8(ascii: "\"") {
                texts.append(try text(bytes))
            } else {
                try skipValue(bytes)
            }
        } while take(UInt8(ascii: ","), bytes)
        guard take(UInt8(ascii: "]"), bytes) else { throw Self.fault("it is cut off") }
        return texts
    }

    package mutating func skipValue(_ bytes: Span<UInt8>) throws(LineFault) {
        var depth = 0
        repeat {
            guard let byte = peek(bytes) else { throw Self.fault("it is cut off") }
            switch byte {
            case UInt8(ascii: "\""): _ = try string(bytes)
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                offset += 1
                guard depth <= Self.depth else { throw Self.fault("it is nested too deeply") }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard depth > 0 else { throw Self.fault("it is not a JSON object") }
                depth -= 1
                offset += 1
            case UInt8(ascii: ","), UInt8(ascii: ":"):
                guard depth > 0 else { throw Self.fault("it is not a JSON object") }
                offset += 1
            default:
                while offset < bytes.count, !Self.endsWord(bytes[offset]) { offset += 1 }
            }
        } while depth > 0
    }

    private static func endsWord(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x20, 0x09, 0x0d, UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "{"), UInt8(ascii: "}"),
            UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "\""):
            true
        default: false
        }
    }

    // MARK: - Texts

    static func text(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(LineFault) -> String {
        var end = min(range.upperBound, range.lowerBound + textBytes)
        // Do not cut inside a UTF-8 sequence.
        while end < range.upperBound, end > range.lowerBound, bytes[end] & 0xc0 == 0x80 { end -= 1 }
        do {
            return String(copying: try UTF8Span(validating: bytes.extracting(range.lowerBound..<end)))
        } catch {
            throw fault("it is not UTF-8")
        }
    }

    private static func unescaped(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(LineFault) -> String {
        var units: [UInt16] = []
        var result: [UInt8] = []
        func flush() {
            guard !units.isEmpty else { return }
            result += Array(String(decoding: units, as: UTF16.self).utf8)
            units = []
        }
        var index = range.lowerBound
        while index < range.upperBound, result.count < textBytes {
            let byte = bytes[index]
            index += 1
            guard byte == UInt8(ascii: "\\") else {
                flush()
                result.append(byte)
                continue
            }
            guard index < range.upperBound else { throw fault("it has a broken escape") }
            let escape = bytes[index]
            index += 1
            switch escape {
            case UInt8(ascii: "b"): units.append(0x08)
            case UInt8(ascii: "f"): units.append(0x0c)
            case UInt8(ascii: "n"): units.append(0x0a)
            case UInt8(ascii: "r"): units.append(0x0d)
            case UInt8(ascii: "t"): units.append(0x09)
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): units.append(UInt16(escape))
            case UInt8(ascii: "u"):
                guard index + 4 <= range.upperBound else { throw fault("it has a broken escape") }
                var unit: UInt16 = 0
                for digit in index..<(index + 4) {
                    guard let value = hexadecimalValue(bytes[digit]) else { throw fault("it has a broken escape") }
                    unit = unit << 4 | UInt16(value)
                }
                units.append(unit)
                index += 4
            default: throw fault("it has a broken escape")
            }
            if units.count > textBytes { flush() }
        }
        flush()
        return String(decoding: result, as: UTF8.self)
    }

    private static func hexadecimalValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}
