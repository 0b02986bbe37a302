// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import WatchdogPolicy

extension Instant {
    static var monotonicNow: Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
