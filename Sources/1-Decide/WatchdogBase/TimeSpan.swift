// SPDX-License-Identifier: Apache-2.0

/// A time span as people write it: `20s`, `1min 30s`, `250ms`.
///
/// The units are those of systemd.time(7), up to days. A number without a unit is an error, not a guess, and so is
/// anything longer than a hundred years.
public enum TimeSpan {
    /// Why a text is not a time span, and what to write instead.
    public struct SyntaxError: Error, Equatable, Sendable, CustomStringConvertible {
        /// One sentence without a trailing period.
        public let description: String
        /// The offset in bytes from the start of the text.
        public let offset: Int
    }

    private static let units: [(names: [String], nanoseconds: Int64)] = [
        (["ns", "nsec"], 1),
        (["us", "\u{b5}s", "\u{3bc}s", "usec"], 1_000),
        (["ms", "msec"], 1_000_000),
        (["s", "sec", "second", "seconds"], 1_000_000_000),
        (["min", "m", "minute", "minutes"], 60_000_000_000),
        (["h", "hr", "hour", "hours"], 3_600_000_000_000),
        (["d", "day", "days"], 86_400_000_000_000),
    ]

    private static let longest: Int64 = 3_155_760_000_000_000_000

    /// Parses a time span.
    ///
    /// - Parameter text: numbers with units, in any order, with or without spaces between them. Decimal fractions are
    ///   allowed (`1.5s`).
    /// - Returns: the sum, which is never negative.
    /// - Throws: ``SyntaxError`` for an empty text, a missing or unknown unit, or a span of more than a hundred years.
    public static func parse(_ text: String) throws(SyntaxError) -> Duration {
        let bytes = Array(text.utf8)
        var index = 0
        var total: Int64 = 0
        var parts = 0
        func skipBlanks() { while index < bytes.count, bytes[index] == 0x20 || bytes[index] == 0x09 { index += 1 } }
        skipBlanks()
        while index < bytes.count {
            let start = index
            let (whole, fraction, scale) = try number(in: bytes, at: &index, text: text)
            let numberText = String(decoding: bytes[start..<index], as: UTF8.self)
            skipBlanks()
            let unitStart = index
            while index < bytes.count, !(0x30...0x39).contains(bytes[index]), bytes[index] != 0x20, bytes[index] != 0x09
            {
                index += 1
            }
            let unit = String(decoding: bytes[unitStart..<index], as: UTF8.self)
            guard !unit.isEmpty else {
                throw SyntaxError(
                    description: "\"\(text)\" has no unit; write \(numberText)s or \(numberText)ms", offset: start)
            }
            guard let nanoseconds = units.first(where: { $0.names.contains(unit) })?.nanoseconds else {
                throw SyntaxError(
                    description: "unknown unit \"\(unit)\"; use ns, µs, ms, s, min, h or d", offset: unitStart)
            }
            let (product, tooLarge) = whole.multipliedReportingOverflow(by: nanoseconds)
            let part =
                fraction == 0 ? 0 : scale.dividingFullWidth(fraction.multipliedFullWidth(by: nanoseconds)).quotient
            guard !tooLarge, product <= longest, total <= longest - product - part else {
                throw SyntaxError(description: "\"\(text)\" is longer than a hundred years", offset: start)
            }
            total += product + part
            parts += 1
            skipBlanks()
        }
        guard parts > 0 else {
            throw SyntaxError(description: "a time span is missing; write for example 20s or 250ms", offset: 0)
        }
        return .nanoseconds(total)
    }

    private static func number(
        in bytes: [UInt8], at index: inout Int, text: String
    ) throws(SyntaxError) -> (whole: Int64, fraction: Int64, scale: Int64) {
        let start = index
        var whole: Int64 = 0
        var digits = 0
        while index < bytes.count, (0x30...0x39).contains(bytes[index]) {
            // No unit is shorter than a nanosecond.
            guard whole <= longest / 10 else {
                throw SyntaxError(description: "\"\(text)\" is longer than a hundred years", offset: start)
            }
            whole = whole * 10 + Int64(bytes[index] - 0x30)
            digits += 1
            index += 1
        }
        var fraction: Int64 = 0
        var scale: Int64 = 1
        if digits > 0, index < bytes.count, bytes[index] == UInt8(ascii: ".") {
            index += 1
            let first = index
            while index < bytes.count, (0x30...0x39).contains(bytes[index]) {
                if scale < 1_000_000_000 {
                    fraction = fraction * 10 + Int64(bytes[index] - 0x30)
                    scale *= 10
                }
                index += 1
            }
            guard index > first else {
                throw SyntaxError(description: "digits are missing after the point", offset: index)
            }
        }
        guard digits > 0 else {
            throw SyntaxError(
                description: "\"\(text)\" is not a time span; write for example 20s, 1min 30s or 250ms", offset: start)
        }
        return (whole, fraction, scale)
    }

    /// A setting or limit for people: `1 min 30 s`, `2.5 s`, `250 ms`, `52 µs`.
    ///
    /// Whole milliseconds are exact. What is finer is what is left of a limit, and has three digits: `1.99 s`. What was
    /// measured is a ``Swift/Duration/brief``.
    public static func text(_ duration: Duration) -> String {
        parts(duration.nanoseconds % 1_000_000 == 0 ? duration : duration.rounded(digits: 3))
            .map { "\($0) \($1 == "us" ? "\u{b5}s" : $1)" }.joined(separator: " ")
    }

    /// Formats a duration so that ``parse(_:)`` can read it back, to the microsecond: `1min 30s`, `2.5s`, `250ms`.
    ///
    /// It is ASCII, because it is also written to files of other programs.
    public static func format(_ duration: Duration) -> String {
        parts(duration).map { $0 + $1 }.joined(separator: " ")
    }

    private static func parts(_ duration: Duration) -> [(number: String, unit: String)] {
        let microseconds = max(0, duration.nanoseconds) / 1_000
        if microseconds < 1_000 { return [("\(microseconds)", "us")] }
        if microseconds < 1_000_000 { return [(decimal(microseconds, per: 1_000), "ms")] }
        let minutes = microseconds / 60_000_000
        let rest = microseconds % 60_000_000
        let hours = minutes / 60
        var parts: [(number: String, unit: String)] = []
        if hours > 0 { parts.append(("\(hours)", "h")) }
        if minutes % 60 > 0 { parts.append(("\(minutes % 60)", "min")) }
        if rest > 0 || minutes == 0 { parts.append((decimal(rest, per: 1_000_000), "s")) }
        return parts
    }

    private static func decimal(_ value: Int64, per unit: Int64) -> String {
        guard value % unit != 0 else { return "\(value / unit)" }
        var fraction = String(unit + value % unit).dropFirst()
        while fraction.last == "0" { fraction.removeLast() }
        return "\(value / unit).\(fraction)"
    }
}
