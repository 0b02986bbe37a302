// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The shares of the window that the main thread ran, waited for a CPU, and slept.
struct CPUShares {
    let window: Duration
    let running: Duration
    let waiting: Duration

    /// Nil if the window or one of the times is missing, or if a counter decreased, which means that it belongs to
    /// another thread.
    init?(_ evidence: HangEvidence) {
        guard let window = evidence.window, let runTime = evidence.runTime, let runDelay = evidence.runDelay,
            window > .zero, runTime >= .zero, runDelay >= .zero
        else { return nil }
        // Exclude the time for which watchdogd stopped the thread. It is an upper bound, so clamp it to the time
        // without a CPU.
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

    /// Whether it computed all the time, as far as others let it.
    var isSpinning: Bool {
        isAtLeast(VerdictThresholds.spinning, running)
            || isAtLeast(VerdictThresholds.busy, wanting) && isAtLeast(VerdictThresholds.computing, running)
                && running >= VerdictThresholds.computingTime
    }

    /// Compares exactly, so that rounding cannot change a verdict.
    func isAtLeast(_ tenths: Int, _ part: Duration) -> Bool { part * 1_000 >= window * tenths }
    /// Compares exactly, so that rounding cannot change a verdict.
    func isAtMost(_ tenths: Int, _ part: Duration) -> Bool { part * 1_000 <= window * tenths }

    /// - Parameter throughout: whether all samples and the last examination show the same sleep.
    func isBlocked(throughout: Bool) -> Bool {
        let most = throughout ? VerdictThresholds.blockedThroughout : VerdictThresholds.blocked
        return isAtMost(most, running) && isAtLeast(VerdictThresholds.asleep, sleeping)
    }

    func tenths(_ part: Duration) -> Int {
        let (whole, rest) = window.nanoseconds.dividingFullWidth(part.nanoseconds.multipliedFullWidth(by: 1_000))
        return Int(whole) + (rest >= window.nanoseconds - rest ? 1 : 0)
    }
}
