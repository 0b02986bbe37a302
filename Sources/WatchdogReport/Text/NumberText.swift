// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy

extension FixedWidthInteger {
    /// Decimal digits with zeros in front up to a width.
    func padded(_ width: Int) -> String {
        let digits = String(self)
        return String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits
    }

    /// The quotient rounded towards minus infinity.
    func floorDivided(by divisor: Self) -> Self {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder != 0 && (remainder < 0) != (divisor < 0) ? quotient - 1 : quotient
    }
}

extension FixedWidthInteger where Self: UnsignedInteger {
    /// `0x` and lower-case hexadecimal digits, with zeros in front up to a width.
    func hexadecimal(width: Int = 1) -> String {
        let digits = String(self, radix: 16)
        return "0x" + String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits
    }
}

extension String {
    /// The text with blanks in front up to a width.
    func alignedRight(_ width: Int) -> String {
        String(repeating: " ", count: Swift.max(0, width - count)) + self
    }

    /// The text with blanks behind up to a width.
    func alignedLeft(_ width: Int) -> String {
        self + String(repeating: " ", count: Swift.max(0, width - count))
    }
}

extension Character {
    /// True for `0` to `9`, unlike `isNumber`, which knows many more.
    var isASCIIDigit: Bool { ("0"..."9").contains(self) }
}

extension Duration {
    /// Seconds with a fixed number of digits after the point, rounded half away from zero: `19.97`.
    func seconds(fractionDigits: Int) -> String {
        let unit = (0..<(9 - fractionDigits)).reduce(Int64(1)) { unit, _ in unit * 10 }
        let perSecond = 1_000_000_000 / unit
        let magnitude = Int64(clamping: nanoseconds.magnitude)
        let rounded = magnitude / unit + (magnitude % unit >= (unit + 1) / 2 && unit > 1 ? 1 : 0)
        let sign = nanoseconds < 0 && rounded > 0 ? "-" : ""
        let whole = "\(sign)\(rounded / perSecond)"
        return fractionDigits == 0 ? whole : "\(whole).\((rounded % perSecond).padded(fractionDigits))"
    }
}

/// A share in tenths of a percent as text: 4 is `0.4 %`.
func percentText(tenths: Int) -> String {
    "\(tenths / 10).\(tenths % 10) %"
}
