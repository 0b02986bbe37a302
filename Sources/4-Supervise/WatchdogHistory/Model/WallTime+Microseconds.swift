// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension WallTime {
    static let dayLength: Int64 = 86_400_000_000

    /// Microseconds since 1970; a time out of range is clamped.
    var microseconds: Int64 {
        let limit = Int64.max / 2_000_000
        return min(max(seconds, -limit), limit) * 1_000_000 + Int64(nanoseconds) / 1_000
    }

    init(microseconds: Int64) {
        let seconds = microseconds.floorDivided(by: 1_000_000)
        self.init(seconds: seconds, nanoseconds: Int32(microseconds - seconds * 1_000_000) * 1_000)
    }

    /// The number of the day since 1970, in UTC.
    var day: Int64 { microseconds.floorDivided(by: Self.dayLength) }
}
