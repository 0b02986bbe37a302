// SPDX-License-Identifier: Apache-2.0

/// Limits how often something happens: at most a number of times in any period of a length.
///
/// It remembers that many instants, and so is for small numbers and exact about them: "five in an hour". A
/// ``TokenBucket`` is for bursts and steady rates, and may admit twice its capacity within a period. Pure: time is passed
/// in.
public struct PeriodLimit: Hashable, Sendable {
    private let count: Int
    private let period: Duration
    /// The latest events, in the order in which they were recorded.
    private var events: [Instant] = []

    /// Creates a limit.
    ///
    /// - Parameters:
    ///   - count: how many events a period has, at least one.
    ///   - period: how long an event counts.
    public init(_ count: Int, in period: Duration) {
        self.count = max(1, count)
        self.period = period
    }

    /// Whether the limit is reached, so that another event has to wait.
    public func isReached(at now: Instant) -> Bool { recent(at: now) >= count }

    /// Whether no event counts any more.
    public func isIdle(at now: Instant) -> Bool { recent(at: now) == 0 }

    /// Counts an event, also above the limit.
    public mutating func record(at now: Instant) { events = events.suffix(count - 1) + [now] }

    /// Counts an event if the limit allows it; otherwise nothing changes.
    public mutating func admit(at now: Instant) -> Bool {
        guard !isReached(at: now) else { return false }
        record(at: now)
        return true
    }

    private func recent(at now: Instant) -> Int { events.count { now - $0 < period } }
}
