// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// How the main thread spent the window.
struct CPUShares {
    let window: Duration
    let running: Duration
    let waiting: Duration

    /// Nil if the window or one of the times is missing, or if a counter ran backwards: it then belongs to another
    /// thread.
    init?(_ evidence: HangEvidence) {
        guard let window = evidence.window, let runTime = evidence.runTime, let runDelay = evidence.runDelay,
            window > .zero, runTime >= .zero, runDelay >= .zero
        else { return nil }
        // What watchdogd did to the thread says nothing about it. The time is an upper limit, and less than the rest.
        let own = min(max(evidence.stopped, .zero), max(window - runTime - runDelay, .zero))
        self.window = max(window - own, .nanoseconds(1))
        // The kernel updates a running thread's counter once per tick (4 ms at 250 Hz), so a difference may slightly
        // exceed the window.
        running = min(runTime, self.window)
        waiting = min(runDelay, self.window - running)
    }

    /// Time neither on a CPU nor waiting for one.
    var sleeping: Duration { window - running - waiting }
    /// Time on a CPU or waiting for one.
    var wanting: Duration { running + waiting }

    /// Compares exactly, so that rounding moves no boundary.
    func isAtLeast(_ tenths: Int, _ part: Duration) -> Bool { part * 1_000 >= window * tenths }
    /// Compares exactly, so that rounding moves no boundary.
    func isAtMost(_ tenths: Int, _ part: Duration) -> Bool { part * 1_000 <= window * tenths }

    /// - Parameter throughout: whether all samples and the last look show the same sleep.
    func isBlocked(throughout: Bool) -> Bool {
        let most = throughout ? VerdictThresholds.blockedThroughout : VerdictThresholds.blocked
        return isAtMost(most, running) && isAtLeast(VerdictThresholds.asleep, sleeping)
    }

    func tenths(_ part: Duration) -> Int {
        let (whole, rest) = window.nanoseconds.dividingFullWidth(part.nanoseconds.multipliedFullWidth(by: 1_000))
        return Int(whole) + (rest >= window.nanoseconds - rest ? 1 : 0)
    }
}
