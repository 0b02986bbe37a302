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
