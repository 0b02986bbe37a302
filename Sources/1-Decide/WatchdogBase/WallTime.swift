// SPDX-License-Identifier: Apache-2.0

/// A date and time of day, with the UTC offset of the time zone at that moment.
public struct WallTime: Hashable, Sendable, Codable {
    /// Seconds since 1970-01-01 00:00:00 UTC.
    public var seconds: Int64
    /// Nanoseconds of the second, 0 ..< 1,000,000,000.
    public var nanoseconds: Int32
    /// Seconds east of UTC.
    public var utcOffset: Int32

    private enum CodingKeys: String, CodingKey { case seconds, nanoseconds, utcOffset }

    /// Creates a time; clamps the nanoseconds to one second.
    public init(seconds: Int64, nanoseconds: Int32 = 0, utcOffset: Int32 = 0) {
        self.seconds = seconds
        self.nanoseconds = min(max(nanoseconds, 0), 999_999_999)
        self.utcOffset = utcOffset
    }

    /// Parses the output of ``text(fractionDigits:)``, `2026-11-21 00:20:22.1234 +0000`; the fraction is optional.
    public init?(_ text: String) {
        let parts = text.split(separator: " ")
        guard parts.count == 3, let date = Self.numbers(parts[0], separator: "-", count: 3),
            let offset = Self.offset(parts[2])
        else { return nil }
        let clock = parts[1].split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let time = Self.numbers(clock[0], separator: ":", count: 3),
            (1...9999).contains(date[0]), (1...12).contains(date[1]), (1...31).contains(date[2]),
            (0...23).contains(time[0]), (0...59).contains(time[1]), (0...60).contains(time[2])
        else { return nil }
        var nanoseconds: Int32 = 0
        if clock.count == 2 {
            let digits = clock[1].prefix(9)
            guard !clock[1].isEmpty, clock[1].allSatisfy(\.isASCIIDigit), let value = Int32(digits) else { return nil }
            nanoseconds = (digits.count..<9).reduce(value) { value, _ in value * 10 }
        }
        let days = Self.days(year: date[0], month: date[1], day: date[2])
        let local = days * 86_400 + time[0] * 3_600 + time[1] * 60 + time[2]
        self.init(seconds: local - Int64(offset), nanoseconds: nanoseconds, utcOffset: offset)
    }

    /// The local time in the format of Apple's reports, such as `2026-11-21 00:20:22.12 +0000`.
    ///
    /// - Parameter fractionDigits: the number of fractional digits, 0 to 9. They are truncated: a rounded second could
    ///   belong to the next day.
    public func text(fractionDigits: Int) -> String {
        let local = self.local
        let date = "\(local.year.padded(4))-\(local.month.padded(2))-\(local.day.padded(2))"
        let time = "\(local.hour.padded(2)):\(local.minute.padded(2)):\(local.second.padded(2))"
        let fraction = fractionDigits > 0 ? "." + Int64(nanoseconds).padded(9).prefix(min(fractionDigits, 9)) : ""
        let minutes = Int64(utcOffset.magnitude / 60)
        return
            "\(date) \(time)\(fraction) \(utcOffset < 0 ? "-" : "+")\((minutes / 60).padded(2))\((minutes % 60).padded(2))"
    }

    /// The local time to the second, for file names: `2026-11-21-002022`.
    public var fileStamp: String {
        let local = self.local
        return "\(local.year.padded(4))-\(local.month.padded(2))-\(local.day.padded(2))-"
            + "\(local.hour.padded(2))\(local.minute.padded(2))\(local.second.padded(2))"
    }

    private struct Local {
        var year, month, day, hour, minute, second: Int64
    }

    /// The local time, clamped to the years 1 to 9999, so that the text always has the same width.
    private var local: Local {
        let range: ClosedRange<Int64> = -62_135_596_800...253_402_300_799
        let total = min(max(seconds, range.lowerBound), range.upperBound) + Int64(utcOffset)
        let clamped = min(max(total, range.lowerBound), range.upperBound)
        let days = clamped.floorDivided(by: 86_400)
        let rest = clamped - days * 86_400
        let date = Self.date(days: days)
        return Local(
            year: date.year, month: date.month, day: date.day, hour: rest / 3_600, minute: rest / 60 % 60,
            second: rest % 60)
    }

    /// Days since 1970-01-01 in the proleptic Gregorian calendar, computed with years that begin in March.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted.floorDivided(by: 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func date(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = shifted.floorDivided(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * month + 2) / 5 + 1
        let year = yearOfEra + era * 400 + (month >= 10 ? 1 : 0)
        return (year, month < 10 ? month + 3 : month - 9, day)
    }

    private static func numbers(_ text: Substring, separator: Character, count: Int) -> [Int64]? {
        let parts = text.split(separator: separator, omittingEmptySubsequences: false)
        guard parts.count == count else { return nil }
        let numbers = parts.compactMap { part -> Int64? in
            guard (1...4).contains(part.count), part.allSatisfy(\.isASCIIDigit) else { return nil }
            return Int64(part)
        }
        return numbers.count == count ? numbers : nil
    }

    private static func offset(_ text: Substring) -> Int32? {
        let digits = text.dropFirst()
        guard let sign = text.first, sign == "+" || sign == "-", digits.count == 4,
            digits.allSatisfy(\.isASCIIDigit), let number = Int32(digits), number % 100 < 60
        else { return nil }
        return (number / 100 * 3_600 + number % 100 * 60) * (sign == "-" ? -1 : 1)
    }
}

extension WallTime {
    /// Whether the first of two named files is listed first: the newer one, or, for equal times, by name.
    package static func isNewer(_ left: (WallTime, String), _ right: (WallTime, String)) -> Bool {
        (left.0.seconds, left.0.nanoseconds, left.1) > (right.0.seconds, right.0.nanoseconds, right.1)
    }

    /// The time from `other` to this; negative if `other` is later.
    package func since(_ other: WallTime) -> Duration {
        .seconds(seconds) - .seconds(other.seconds) + .nanoseconds(Int64(nanoseconds) - Int64(other.nanoseconds))
    }
}
