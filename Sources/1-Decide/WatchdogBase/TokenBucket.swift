// SPDX-License-Identifier: Apache-2.0

/// Limits a rate: admits bursts up to a capacity, and a steady rate after that.
///
/// Instead of reading a clock or counting tokens, it stores the time at which it will be full, in nanoseconds times
/// tokens per second. This makes every answer exact.
public struct TokenBucket: Hashable, Sendable {
    private static let token: Int128 = 1_000_000_000
    /// 10¹² times the range of an instant stays far from the limits of `Int128`.
    private static let most = 1_000_000_000_000

    /// The maximum number of accumulated tokens.
    public let capacity: Int
    private let perSecond: Int
    private var full = Int128.min / 2

    /// Creates a full bucket.
    ///
    /// - Parameters:
    ///   - capacity: the largest burst, clamped to 1...10¹².
    ///   - perSecond: the refill rate in tokens per second, clamped to 0...10¹².
    public init(capacity: Int, perSecond: Int) {
        self.capacity = min(max(1, capacity), Self.most)
        self.perSecond = min(max(0, perSecond), Self.most)
    }

    /// When `tokens` will be available, possibly in the past; more than the capacity, as soon as the bucket is full.
    public func earliest(for tokens: Int = 1) -> Instant {
        let due = due(tokens)
        guard perSecond > 0 else { return Instant(nanoseconds: due > 0 ? .max : .min) }
        let (quotient, rest) = due.quotientAndRemainder(dividingBy: Int128(perSecond))
        return Instant(nanoseconds: Int64(clamping: rest > 0 ? quotient + 1 : quotient))
    }

    /// Takes tokens even if they are not available; later requests then wait longer.
    public mutating func take(_ tokens: Int = 1, at now: Instant) {
        full = max(full, place(now)) + Int128(min(max(0, tokens), Self.most)) * Self.token
    }

    /// Takes a token if one is available; otherwise nothing changes.
    public mutating func admit(at now: Instant) -> Bool {
        guard due(1) <= place(now) else { return false }
        take(at: now)
        return true
    }

    private func due(_ tokens: Int) -> Int128 { full - Int128(capacity - min(max(0, tokens), capacity)) * Self.token }

    private func place(_ instant: Instant) -> Int128 { Int128(instant.nanoseconds) * Int128(perSecond) }
}
