// SPDX-License-Identifier: Apache-2.0

/// A point in time on `CLOCK_MONOTONIC` of this boot, in nanoseconds; the clock does not advance while the machine is
/// suspended.
public struct Instant: Hashable, Comparable, Sendable, Codable {
    /// Nanoseconds since the clock's origin.
    public var nanoseconds: Int64

    private enum CodingKeys: String, CodingKey { case nanoseconds }

    /// Creates the instant that lies `nanoseconds` after the clock's origin.
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Whether `left` is earlier.
    public static func < (left: Instant, right: Instant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The instant later by `duration`; saturates instead of overflowing.
    public static func + (instant: Instant, duration: Duration) -> Instant {
        let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(duration.nanoseconds)
        return Instant(nanoseconds: overflow ? (duration < .zero ? .min : .max) : sum)
    }

    /// The instant earlier by `duration`; saturates instead of overflowing.
    public static func - (instant: Instant, duration: Duration) -> Instant {
        instant + (.zero - duration)
    }

    /// The time from `right` to `left`; negative if `left` is earlier.
    public static func - (left: Instant, right: Instant) -> Duration {
        .nanoseconds(left.nanoseconds) - .nanoseconds(right.nanoseconds)
    }

    /// The earlier of two instants; nil only if both are.
    public static func earliest(_ left: Instant?, _ right: Instant?) -> Instant? {
        guard let left, let right else { return left ?? right }
        return min(left, right)
    }
}

extension Duration {
    /// The duration in nanoseconds, rounded toward zero; saturates at the limits of `Int64` (292 years).
    public var nanoseconds: Int64 {
        Int64(clamping: attoseconds / 1_000_000_000)
    }

    /// The duration in microseconds, rounded toward zero.
    public var wholeMicroseconds: Int64 { nanoseconds / 1_000 }
}
