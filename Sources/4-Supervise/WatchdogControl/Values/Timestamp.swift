// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
import WatchdogLinux

/// A calendar time in the interface: microseconds since 1970-01-01 00:00 UTC.
public struct Timestamp: Hashable, Comparable, Sendable, Codable {
    /// Microseconds since 1970-01-01 00:00 UTC.
    public var microseconds: Int64

    /// Creates a time from its microseconds.
    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// Truncates a calendar time to microseconds; saturates at the ends of `Int64`.
    public init(_ time: WallTime) {
        let (scaled, overflow) = time.seconds.multipliedReportingOverflow(by: 1_000_000)
        let (sum, carry) = scaled.addingReportingOverflow(Int64(time.nanoseconds) / 1_000)
        microseconds = overflow || carry ? (time.seconds < 0 ? .min : .max) : sum
    }

    /// The current time.
    public static func now() -> Timestamp {
        Timestamp(.now())
    }

    /// The time from `right` to `left`; negative if `left` is earlier.
    public static func - (left: Timestamp, right: Timestamp) -> Duration {
        .microseconds(left.microseconds) - .microseconds(right.microseconds)
    }

    /// Decodes a whole number.
    public init(from decoder: any Decoder) throws {
        microseconds = try decoder.singleValueContainer().decode(Int64.self)
    }

    /// Encodes a whole number.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(microseconds)
    }

    /// True if `left` is earlier.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.microseconds < right.microseconds
    }
}
