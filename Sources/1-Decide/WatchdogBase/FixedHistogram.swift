// SPDX-License-Identifier: Apache-2.0

/// Counts durations in buckets with fixed bounds, with their exact sum: what a Prometheus histogram shows.
public struct FixedHistogram: Hashable, Sendable {
    /// The upper bounds of the buckets, ascending; the last bucket has none.
    public let bounds: [Duration]
    /// The durations in each bucket, each of which excludes those before it; one more than there are bounds.
    public private(set) var buckets: [Int]
    private var nanoseconds: Int64 = 0

    /// The sum of the recorded durations.
    public var sum: Duration { .nanoseconds(nanoseconds) }

    /// Creates an empty histogram.
    ///
    /// - Parameter bounds: ascending.
    public init(bounds: [Duration]) {
        self.bounds = bounds
        buckets = Array(repeating: 0, count: bounds.count + 1)
    }

    /// Creates a histogram of durations that were recorded before; nil if the buckets do not fit the bounds.
    public init?(bounds: [Duration], buckets: [Int], sum: Duration) {
        guard buckets.count == bounds.count + 1 else { return nil }
        self.bounds = bounds
        self.buckets = buckets
        nanoseconds = sum.nanoseconds
    }

    /// The number of recorded durations.
    public var count: Int { buckets.reduce(0, +) }

    /// Records one duration; a negative one counts as zero.
    public mutating func record(_ duration: Duration) {
        let duration = max(.zero, duration)
        buckets[bounds.firstIndex { duration <= $0 } ?? bounds.count] += 1
        nanoseconds = nanoseconds.addingSaturated(duration.nanoseconds)
    }

    /// Adds what another histogram with the same bounds has recorded.
    public mutating func add(_ other: FixedHistogram) {
        precondition(bounds == other.bounds, "histograms with other bounds cannot be added")
        for index in buckets.indices { buckets[index] += other.buckets[index] }
        nanoseconds = nanoseconds.addingSaturated(other.nanoseconds)
    }
}
