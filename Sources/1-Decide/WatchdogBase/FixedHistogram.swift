// SPDX-License-Identifier: Apache-2.0

/// Counts durations in buckets with fixed bounds, with their exact sum: what a Prometheus histogram shows.
public struct FixedHistogram: Hashable, Sendable {
    /// The upper bounds of the buckets, ascending; the last bucket has none.
    public let bounds: [Duration]
    /// The durations in each bucket, each of which excludes those before it; one more than there are bounds.
    public var buckets: [Int] {
        guard counts.isEmpty else { return counts }
        var buckets = Array(repeating: 0, count: bounds.count + 1)
        if let only { buckets[Int(only)] = 1 }
        return buckets
    }
    /// Empty until there is a second duration.
    private var counts: [Int] = []
    private var nanoseconds: Int64 = 0
    /// The bucket of the first duration, as long as there is no other: an app that starts once records nothing else.
    private var only: UInt8?

    /// The sum of the recorded durations.
    public var sum: Duration { .nanoseconds(nanoseconds) }

    /// Creates an empty histogram.
    ///
    /// - Parameter bounds: ascending, fewer than 256.
    public init(bounds: [Duration]) {
        precondition(bounds.count < 256, "a bucket has a number of one byte")
        self.bounds = bounds
    }

    /// Creates a histogram of durations that were recorded before; nil if the buckets do not fit the bounds.
    public init?(bounds: [Duration], buckets: [Int], sum: Duration) {
        guard bounds.count < 256, buckets.count == bounds.count + 1 else { return nil }
        self.bounds = bounds
        let total = buckets.reduce(0, +)
        if total > 1 { counts = buckets }
        only = total == 1 ? buckets.firstIndex(of: 1).map { UInt8($0) } : nil
        nanoseconds = sum.nanoseconds
    }

    /// The number of recorded durations.
    public var count: Int { counts.isEmpty ? only == nil ? 0 : 1 : counts.reduce(0, +) }

    /// Records one duration; a negative one counts as zero.
    public mutating func record(_ duration: Duration) {
        let duration = max(.zero, duration)
        let bucket = bounds.firstIndex { duration <= $0 } ?? bounds.count
        if counts.isEmpty, only == nil {
            only = UInt8(bucket)
        } else {
            if only != nil { (counts, only) = (buckets, nil) }
            counts[bucket] += 1
        }
        nanoseconds = nanoseconds.addingSaturated(duration.nanoseconds)
    }

    /// Adds what another histogram with the same bounds has recorded.
    public mutating func add(_ other: FixedHistogram) {
        precondition(bounds == other.bounds, "histograms with other bounds cannot be added")
        if counts.isEmpty, only == nil {
            (counts, only) = (other.counts, other.only)
        } else if other.count > 0 {
            counts = zip(buckets, other.buckets).map { $0 + $1 }
            only = nil
        }
        nanoseconds = nanoseconds.addingSaturated(other.nanoseconds)
    }
}
