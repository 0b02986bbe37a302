// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogPolicy

/// How deep to go, given the time that is left.
struct TimeBudget {
    private let depth: Depth
    private let linesUntil: Instant
    private let namesUntil: Instant

    /// Lines for the first 70 % of the time until the deadline, names up to 90 %, and addresses from then on.
    init(depth: Depth, now: Instant, deadline: Instant) {
        self.depth = depth
        let left = max(.zero, deadline - now)
        linesUntil = now + left * 0.7
        namesUntil = now + left * 0.9
    }

    /// How deep to go at this time.
    func depth(at now: Instant) -> Depth {
        min(depth, now < linesUntil ? .lines : now < namesUntil ? .names : .addresses)
    }
}

extension Instant {
    /// The time by `CLOCK_MONOTONIC`.
    static func monotonic() -> Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
