// SPDX-License-Identifier: Apache-2.0

import Dispatch
import WatchdogBase

/// Calls a function at intervals on another thread, while its owner does something that takes long.
public final class Ticker {
    private let queue = DispatchQueue(label: "org.watchdogd.ticker")
    private let timer: any DispatchSourceTimer

    /// Starts.
    ///
    /// - Parameters:
    ///   - delay: the time before the first call.
    ///   - interval: the time between calls.
    ///   - tick: what to call.
    public init(after delay: Duration, every interval: Duration, _ tick: @escaping @Sendable () -> Void) {
        timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(
            deadline: .now() + .nanoseconds(Int(delay.nanoseconds)), repeating: .nanoseconds(Int(interval.nanoseconds)))
        timer.setEventHandler(handler: tick)
        timer.activate()
    }

    /// Ends the calls; waits for one that is running.
    public func end() {
        timer.cancel()
        queue.sync {}
    }
}
