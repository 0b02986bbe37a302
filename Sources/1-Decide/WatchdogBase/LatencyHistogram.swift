// SPDX-License-Identifier: Apache-2.0

/// Counts durations in buckets whose width grows with the value: quantiles are accurate to 1/16 or a microsecond, in
/// constant space.
///
/// It is part of the saved state of a launch, so that its buckets cannot change: those of the history's
/// `DurationBuckets` are narrower, and stay so in its database. A ``FixedHistogram`` has the bounds that a dashboard
/// names.
public struct LatencyHistogram: Hashable, Sendable, Codable {
    private static let scale = GrowingBuckets(bits: 4)
    private var buckets: [UInt32] = []

    /// The number of recorded durations.
    public private(set) var count = 0
    /// The exact maximum of the recorded durations.
    public private(set) var maximum: Duration = .zero

    private enum CodingKeys: String, CodingKey { case buckets, count, maximum }

    /// Creates an empty histogram.
    public init() {}

    /// Records one duration; a negative one counts as zero.
    public mutating func record(_ duration: Duration) {
        let microseconds = UInt64(max(0, duration.nanoseconds)) / 1_000
        let index = Self.scale.bucket(of: microseconds)
        if index >= buckets.count { buckets.append(contentsOf: repeatElement(0, count: index + 1 - buckets.count)) }
        if buckets[index] < .max { buckets[index] += 1 }
        count += 1
        maximum = max(maximum, duration)
    }

    /// The duration that `fraction` of the recorded ones do not exceed, rounded up to the end of its bucket.
    ///
    /// A fraction outside 0...1 is clamped. Nil if nothing was recorded.
    public func quantile(_ fraction: Double) -> Duration? {
        guard count > 0 else { return nil }
        // Rounded up manually: `rounded` would make every program that links the policy depend on libm.
        let share = fraction > 0 ? Double(count) * min(fraction, 1) : 0
        let whole = Int(share)
        let rank = min(count, max(1, Double(whole) < share ? whole + 1 : whole))
        var seen = 0
        for (index, value) in buckets.enumerated() {
            seen += Int(value)
            if seen >= rank { return min(maximum, .microseconds(Int64(Self.scale.start(of: index + 1)))) }
        }
        return maximum
    }
}
