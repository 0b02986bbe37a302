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

/// Buckets for whole numbers whose width grows with the value, so that each is at most 2⁻ᵇⁱᵗˢ of its values wide.
///
/// Values below 2ᵇⁱᵗˢ have a bucket each.
public struct GrowingBuckets: Sendable {
    private let bits: Int

    /// - Parameter bits: 2ᵇⁱᵗˢ buckets cover the values from one power of two to the next; within 0...16.
    public init(bits: Int) { self.bits = min(max(bits, 0), 16) }

    /// The bucket of a value, from 0 on.
    public func bucket(of value: UInt64) -> Int {
        guard value >= 1 << UInt64(bits) else { return Int(value) }
        let exponent = 63 - value.leadingZeroBitCount
        return (exponent - bits) << bits + Int(value >> UInt64(exponent - bits))
    }

    /// The smallest value of a bucket, which is the end of the one before.
    public func start(of bucket: Int) -> UInt64 {
        guard bucket >= 1 << bits else { return UInt64(bucket) }
        let mantissa = UInt64(bucket & (1 << bits - 1)) + 1 << UInt64(bits)
        return mantissa << UInt64(bucket >> bits - 1)
    }
}
