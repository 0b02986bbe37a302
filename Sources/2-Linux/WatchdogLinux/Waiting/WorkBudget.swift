// SPDX-License-Identifier: Apache-2.0

import Glibc

/// An amount of the calling thread's CPU time.
///
/// Wall-clock time would run out before any work was done on a busy machine, where reports matter most.
///
/// Isolation: belongs to one thread.
final class WorkBudget {
    private var end: Duration
    private var reserve: Duration

    /// - Parameters:
    ///   - amount: the time for everything whose length does not depend on the machine.
    ///   - reserve: the time for the machine's own tables, which are long where there are many processes, sockets or locks.
    init(_ amount: Duration, reserve: Duration = .zero) {
        end = Self.spent() + amount
        self.reserve = reserve
    }

    var isSpent: Bool { Self.spent() >= end }

    /// Works on a table of the machine, and leaves as much for everything else as before.
    ///
    /// - Parameter body: is given what is left of the reserve.
    func useReserve<Result>(_ body: (_ left: WorkBudget) -> Result) -> Result {
        let start = Self.spent()
        let result = body(WorkBudget(reserve))
        let length = Self.spent() - start
        reserve -= length
        end += length
        return result
    }

    private static func spent() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
