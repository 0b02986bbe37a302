// SPDX-License-Identifier: Apache-2.0

extension FixedWidthInteger {
    /// The sum, clamped to the type's range.
    package func addingSaturated(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// The decimal digits, zero-padded to a width.
    package func padded(_ width: Int) -> String {
        let digits = String(self)
        return String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits
    }

    /// The number with a noun: `1 file`, `2 files`, `0 processes`.
    ///
    /// - Parameter plural: the plural; nil for one that ends in "s".
    package func counted(_ noun: String, _ plural: String? = nil) -> String {
        self == 1 ? "1 \(noun)" : "\(self) \(plural ?? noun + "s")"
    }

    /// The quotient, rounded toward negative infinity.
    package func floorDivided(by divisor: Self) -> Self {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder != 0 && (remainder < 0) != (divisor < 0) ? quotient - 1 : quotient
    }
}

extension Character {
    /// Whether the character is `0` to `9`; `isNumber` also accepts digits of other scripts.
    package var isASCIIDigit: Bool { ("0"..."9").contains(self) }
}

extension FixedWidthInteger where Self: UnsignedInteger {
    /// `0x` and lower-case hexadecimal digits, zero-padded to a width.
    package func hexadecimal(width: Int = 1) -> String {
        let digits = String(self, radix: 16)
        return "0x" + String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits
    }
}

extension String {
    /// The text, padded with spaces on the left to a width.
    package func alignedRight(_ width: Int) -> String {
        String(repeating: " ", count: Swift.max(0, width - count)) + self
    }

    /// The text, padded with spaces on the right to a width.
    package func alignedLeft(_ width: Int) -> String {
        self + String(repeating: " ", count: Swift.max(0, width - count))
    }
}

extension Duration {
    /// Seconds with a fixed number of fractional digits, rounded half away from zero: `19.97`.
    package func seconds(fractionDigits: Int) -> String {
        let unit = (0..<(9 - fractionDigits)).reduce(Int64(1)) { unit, _ in unit * 10 }
        let perSecond = 1_000_000_000 / unit
        let magnitude = Int64(clamping: nanoseconds.magnitude)
        let rounded = magnitude / unit + (magnitude % unit >= (unit + 1) / 2 && unit > 1 ? 1 : 0)
        let sign = nanoseconds < 0 && rounded > 0 ? "-" : ""
        let whole = "\(sign)\(rounded / perSecond)"
        return fractionDigits == 0 ? whole : "\(whole).\((rounded % perSecond).padded(fractionDigits))"
    }
}

extension Duration {
    /// Milliseconds without a unit, like ``seconds(fractionDigits:)``: `754.0`.
    package func milliseconds(fractionDigits: Int) -> String {
        (self * 1_000).seconds(fractionDigits: fractionDigits)
    }

    /// The value with a number of significant digits, in whole microseconds; from two minutes on, in whole seconds.
    package func rounded(digits: Int) -> Duration {
        let microseconds = max(0, nanoseconds) / 1_000
        let limit = (0..<digits).reduce(Int64(1)) { limit, _ in limit * 10 }
        var unit: Int64 = 1
        if microseconds >= 120_000_000 { unit = 1_000_000 } else { while microseconds / unit >= limit { unit *= 10 } }
        return .microseconds((microseconds + unit / 2) / unit * unit)
    }
}

extension Duration {
    /// An offset from another time: `+2.000 s`.
    package var offsetText: String {
        let text = seconds(fractionDigits: nanoseconds.magnitude < 10_000_000_000 ? 3 : 2)
        return (text.hasPrefix("-") ? "" : "+") + text + " s"
    }
}

extension Duration {
    /// A measured duration to read, with about three significant digits: `52 ms`, `2.35 s`, `20.00 s`, `2 min 5 s`,
    /// `3 d 4 h`.
    ///
    /// ``figure(digits:)`` is for columns, ``TimeSpan/text(_:)`` for what was set.
    package var brief: String {
        let nanoseconds = max(0, nanoseconds)
        switch nanoseconds {
        case ..<1_000_000: return "\(nanoseconds / 1_000) µs"
        case ..<9_995_000: return Self.decimal((nanoseconds + 5_000) / 10_000, places: 2) + " ms"
        case ..<999_500_000: return "\((nanoseconds + 500_000) / 1_000_000) ms"
        case ..<120_000_000_000: return Self.decimal((nanoseconds + 5_000_000) / 10_000_000, places: 2) + " s"
        default: return rough
        }
    }

    /// A measured duration in a column of figures, always with that many digits from a millisecond on: `52 µs`, `12.3 ms`,
    /// `1.23 s`; from a thousand seconds on, two units: `16 min 40 s`.
    package func figure(digits: Int = 3) -> String {
        let nanoseconds = max(0, nanoseconds)
        guard nanoseconds >= 999_500 else { return "\((nanoseconds + 500) / 1_000) µs" }
        guard nanoseconds < 1_000_000_000_000 else { return rough }
        for (unit, name) in [(Int64(1_000_000), "ms"), (1_000_000_000, "s")] {
            for places in (0..<digits).reversed() {
                let scale = (0..<places).reduce(Int64(1)) { scale, _ in scale * 10 }
                let rounded = (nanoseconds + unit / scale / 2) / (unit / scale)
                // Three digits before the point, at most.
                guard rounded / scale < 1_000, String(rounded).count <= digits else { continue }
                return (places > 0 ? Self.decimal(rounded, places: places) : "\(rounded)") + " " + name
            }
        }
        return rough
    }

    /// The largest unit: `3 d`, `2 h`, `5 min`, `12 s`.
    package var coarse: String { units(most: 1) }

    /// The two largest units: `3 d 4 h`, `2 h 5 min`, `12 s`.
    package var rough: String { units(most: 2) }

    private func units(most: Int) -> String {
        var seconds = max(0, nanoseconds) / 1_000_000_000
        var parts: [String] = []
        for (name, length) in [("d", Int64(86_400)), ("h", 3_600), ("min", 60), ("s", 1)] {
            let count = seconds / length
            seconds %= length
            if count > 0 || !parts.isEmpty { parts.append(count > 0 ? "\(count) \(name)" : "") }
        }
        let text = parts.prefix(most).filter { !$0.isEmpty }.joined(separator: " ")
        return text.isEmpty ? "0 s" : text
    }

    private static func decimal(_ value: Int64, places: Int) -> String {
        let digits = value.padded(places + 1)
        return digits.dropLast(places) + "." + digits.suffix(places)
    }
}

extension Sequence<Double> {
    /// The middle value, or the mean of the two middle ones; nil without values.
    package var median: Double? {
        let sorted = sorted()
        guard !sorted.isEmpty else { return nil }
        return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }
}

/// A share in tenths of a percent, as text: 4 is `0.4 %`.
package func percentText(tenths: Int) -> String {
    "\(tenths / 10).\(tenths % 10) %"
}

extension String {
    /// The text with a capital at its beginning.
    package var capitalizingFirst: String { prefix(1).uppercased() + dropFirst() }
}
