// SPDX-License-Identifier: Apache-2.0

import Glibc

/// An amount of the calling thread's CPU time.
///
/// Wall-clock time would run out before any work was done on a busy machine, where reports matter most.
struct WorkBudget {
    private let end: Duration

    init(_ amount: Duration) { end = Self.spent() + amount }

    var isSpent: Bool { Self.spent() >= end }

    private static func spent() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
