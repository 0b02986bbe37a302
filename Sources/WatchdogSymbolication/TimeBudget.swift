// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogPolicy

/// How much to do, given the time that is left until an attempt is ended by force.
struct TimeBudget {
    private let depth: Depth
    private let linesUntil: Instant
    private let namesUntil: Instant
    private let stacksUntil: Instant

    /// Lines for the first half of the time until the deadline, then names, then addresses, then nothing: the result
    /// has to be put into words too.
    init(depth: Depth, now: Instant, deadline: Instant) {
        self.depth = depth
        let left = max(.zero, deadline - now)
        linesUntil = now + left * 0.5
        namesUntil = now + left * 0.7
        stacksUntil = now + left * 0.8
    }

    /// How deep to go at this time; nil when there is no time for stacks at all.
    func depth(at now: Instant) -> Depth? {
        guard now < stacksUntil else { return nil }
        return min(depth, now < linesUntil ? .lines : now < namesUntil ? .names : .addresses)
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
