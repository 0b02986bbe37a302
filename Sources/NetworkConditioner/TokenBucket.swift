// SPDX-License-Identifier: Apache-2.0

package import WatchdogPolicy

/// Limits a rate, but lets through at once what was saved up while nothing passed.
///
/// It holds no count of tokens but the instant at which it will be full again, from which the count follows: nothing has to
/// happen while time passes, and nothing is rounded twice.
package struct TokenBucket: Sendable {
    private let bytesPerSecond: Int
    private let burst: Int
    private var full: Instant

    /// A full bucket.
    package init(bytesPerSecond: Int, burst: Int, at now: Instant) {
        self.bytesPerSecond = max(1, bytesPerSecond)
        self.burst = max(1, burst)
        full = now
    }

    /// When `bytes` may pass, which may be in the past; more than the burst pass when the bucket is full.
    package func earliest(for bytes: Int) -> Instant {
        full - time(for: burst - min(bytes, burst))
    }

    /// Lets `bytes` pass at `now`, which is no earlier than ``earliest(for:)``.
    package mutating func take(_ bytes: Int, at now: Instant) {
        full = max(full, now) + time(for: bytes)
    }

    private func time(for bytes: Int) -> Duration {
        let (seconds, rest) = bytes.quotientAndRemainder(dividingBy: bytesPerSecond)
        let (product, overflow) = rest.multipliedReportingOverflow(by: 1_000_000_000)
        let nanoseconds = overflow ? Int(Double(rest) / Double(bytesPerSecond) * 1e9) : product / bytesPerSecond
        return .seconds(seconds) + .nanoseconds(nanoseconds)
    }
}
