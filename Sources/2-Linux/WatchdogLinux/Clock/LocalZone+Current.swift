// SPDX-License-Identifier: Apache-2.0

import Glibc
public import WatchdogBase

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
