// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy

/// Lets a burst through, and then so many in a second.
struct TokenBucket {
    private let capacity: Int64
    /// From one token to the next.
    private let interval: Int64
    /// When the bucket would be full; each token taken puts it off.
    private var fullAt = Int64.min

    init(capacity: Int, perSecond: Int) {
        self.capacity = Int64(max(1, capacity))
        interval = 1_000_000_000 / Int64(min(max(1, perSecond), 1_000_000_000))
    }

    /// Takes a token; if there is none, nothing changes.
    ///
    /// - Returns: nil when there was one, otherwise when there will be.
    mutating func take(at now: Instant) -> Instant? {
        let start = max(fullAt, now.nanoseconds)
        let (whole, overflow) = interval.multipliedReportingOverflow(by: capacity - 1)
        let missing = overflow ? 0 : start - now.nanoseconds - whole
        guard missing <= 0 else { return now + .nanoseconds(missing) }
        fullAt = start + interval
        return nil
    }
}
