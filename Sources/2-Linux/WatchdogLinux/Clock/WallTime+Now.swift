// SPDX-License-Identifier: Apache-2.0

import Glibc
public import WatchdogBase

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
