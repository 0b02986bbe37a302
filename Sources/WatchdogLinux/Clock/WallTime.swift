// SPDX-License-Identifier: Apache-2.0

import Glibc
public import WatchdogPolicy

/// A point of calendar time with the offset that local clocks had then.
public struct WallTime: Hashable, Sendable {
    /// Whole seconds since 1970-01-01 00:00 UTC.
    public let seconds: Int64
    /// The rest, 0 … 999,999,999.
    public let nanoseconds: Int64
    /// What local time is ahead of UTC.
    public let utcOffset: Duration

    /// The present.
    public static func now() -> WallTime {
        WallTime(nanosecondsSince1970: readNanoseconds(of: CLOCK_REALTIME))
    }

    /// The calendar time of an instant of this boot, by the clock as it is set now.
    public init(_ instant: Instant) {
        let ago = Instant.now() - instant
        self.init(nanosecondsSince1970: readNanoseconds(of: CLOCK_REALTIME) - ago.nanoseconds)
    }

    init(nanosecondsSince1970 total: Int64) {
        let (quotient, remainder) = total.quotientAndRemainder(dividingBy: 1_000_000_000)
        seconds = remainder < 0 ? quotient - 1 : quotient
        nanoseconds = remainder < 0 ? remainder + 1_000_000_000 : remainder
        var time = time_t(seconds)
        var local = tm()
        utcOffset = localtime_r(&time, &local) == nil ? .zero : .seconds(local.tm_gmtoff)
    }
}
