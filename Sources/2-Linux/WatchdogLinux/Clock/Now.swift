// SPDX-License-Identifier: Apache-2.0

import Glibc
public import WatchdogBase

extension Instant {
    /// The current time, read from `CLOCK_MONOTONIC`.
    public static func now() -> Instant {
        Instant(nanoseconds: readNanoseconds(of: CLOCK_MONOTONIC))
    }
}

/// Reads a clock; the clocks used here cannot fail.
func readNanoseconds(of clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

extension WallTime {
    /// The current time, in the local time zone.
    public static func now() -> WallTime {
        WallTime(nanosecondsSince1970: readNanoseconds(of: CLOCK_REALTIME))
    }

    init(nanosecondsSince1970 total: Int64) {
        let seconds = total.floorDivided(by: 1_000_000_000)
        var time = time_t(seconds)
        var local = tm()
        self.init(
            seconds: seconds,
            nanoseconds: Int32(total - seconds * 1_000_000_000),
            utcOffset: localtime_r(&time, &local) == nil ? 0 : Int32(clamping: local.tm_gmtoff)
        )
    }
}

extension LocalZone {
    /// The time zone of this process, as it is at a time.
    ///
    /// - Parameter seconds: seconds since 1970-01-01 00:00:00 UTC.
    public static func current(at seconds: Int64) -> LocalZone {
        var time = time_t(seconds)
        var local = tm()
        guard localtime_r(&time, &local) != nil else { return .utc }
        return LocalZone(
            utcOffset: Int32(clamping: local.tm_gmtoff), abbreviation: local.tm_zone.map { String(cString: $0) })
    }

    /// A time as this process's local time: `2026-11-21 09:20:22 JST`.
    public static func text(_ time: WallTime) -> String { current(at: time.seconds).text(time) }
}

/// How long the machine has been suspended since boot.
public enum SuspendedTime {
    /// `CLOCK_BOOTTIME` − `CLOCK_MONOTONIC`: grows by the length of each suspension and by nothing else.
    ///
    /// Exact to the time between two clock readings; a growth of milliseconds is a suspension.
    public static func now() -> Duration {
        let before = readNanoseconds(of: CLOCK_MONOTONIC)
        let boot = readNanoseconds(of: CLOCK_BOOTTIME)
        let after = readNanoseconds(of: CLOCK_MONOTONIC)
        return .nanoseconds(boot - (before + (after - before) / 2))
    }
}
