// SPDX-License-Identifier: Apache-2.0

/// A token bucket: admits bursts up to a capacity and a steady rate behind them.
///
/// It reads no clock; the caller passes the time. Integer arithmetic only, so no drift.
public struct RateLimiter: Hashable, Sendable {
    /// One token in units of the credit: tokens per second times nanoseconds.
    private static let token: Int64 = 1_000_000_000

    /// The most that is admitted at once.
    public let capacity: Int
    /// The tokens that come back per second.
    public let refillPerSecond: Int
    /// How many were not admitted so far.
    public private(set) var dropped: Int = 0

    private var credit: Int64
    private var lastNanoseconds: Int64?

    /// Creates a full bucket.
    ///
    /// - Parameters:
    ///   - capacity: The most that is admitted at once, held within 1...10⁹.
    ///   - refillPerSecond: The tokens that come back per second, held within 0...10⁹.
    public init(capacity: Int, refillPerSecond: Int) {
        self.capacity = min(max(capacity, 1), 1_000_000_000)
        self.refillPerSecond = min(max(refillPerSecond, 0), 1_000_000_000)
        credit = Int64(self.capacity) * Self.token
    }

    /// Takes a token if there is one; otherwise counts a drop.
    ///
    /// - Parameter nanoseconds: The time now on any clock; a time before the last one is taken as that one.
    /// - Returns: True when admitted.
    public mutating func admit(at nanoseconds: Int64) -> Bool {
        refill(at: nanoseconds)
        guard credit >= Self.token else {
            dropped = dropped == .max ? .max : dropped + 1
            return false
        }
        credit -= Self.token
        return true
    }

    private mutating func refill(at nanoseconds: Int64) {
        guard let last = lastNanoseconds else {
            lastNanoseconds = nanoseconds
            return
        }
        guard nanoseconds > last else { return }
        lastNanoseconds = nanoseconds
        guard refillPerSecond > 0 else { return }
        let full = Int64(capacity) * Self.token
        let (elapsed, carry) = nanoseconds.subtractingReportingOverflow(last)
        let (earned, overflow) = elapsed.multipliedReportingOverflow(by: Int64(refillPerSecond))
        let (sum, saturated) = credit.addingReportingOverflow(earned)
        credit = carry || overflow || saturated ? full : min(full, sum)
    }
}
