// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy

/// How the main thread spent the window.
struct CPUShares {
    let window: Duration
    let running: Duration
    let waiting: Duration

    /// Nil without a window and both times, and when a counter ran backwards: then it belongs to another thread.
    init?(_ evidence: HangEvidence) {
        guard let window = evidence.window, let runTime = evidence.runTime, let runDelay = evidence.runDelay,
            window > .zero, runTime >= .zero, runDelay >= .zero
        else { return nil }
        self.window = window
        // A running thread's counter is brought up to date once a tick (4 ms at 250 Hz), so that a difference may
        // exceed the window a little.
        running = min(runTime, window)
        waiting = min(runDelay, window - running)
    }

    /// Time neither on a CPU nor waiting for one.
    var sleeping: Duration { window - running - waiting }
    /// Time on a CPU or waiting for one.
    var wanting: Duration { running + waiting }

    /// Exact: no rounding moves a boundary.
    func isAtLeast(_ tenths: Int, _ part: Duration) -> Bool { part * 1_000 >= window * tenths }
    /// Exact: no rounding moves a boundary.
    func isAtMost(_ tenths: Int, _ part: Duration) -> Bool { part * 1_000 <= window * tenths }

    func tenths(_ part: Duration) -> Int {
        let (whole, rest) = window.nanoseconds.dividingFullWidth(part.nanoseconds.multipliedFullWidth(by: 1_000))
        return Int(whole) + (rest >= window.nanoseconds - rest ? 1 : 0)
    }
}
