// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Counts durations in buckets whose width grows with the value: quantiles are accurate to 1/64 of the value.
///
/// Only buckets that hold something take space, so that the counts of a day take a few hundred bytes. The database keeps
/// them, so that they cannot become the wider ones of a `LatencyHistogram`.
public struct DurationBuckets: Equatable, Sendable {
    private static let scale = GrowingBuckets(bits: 5)
    /// 2^47 µs, more than four years.
    private static let longest: Int64 = 1 << 47
    /// The maximum plausible count of one row, so that sums do not overflow.
    static let largestCount = 1 << 32

    private var counts: [Int: Int] = [:]
    /// The number of added durations.
    public private(set) var count = 0

    /// Creates empty buckets.
    public init() {}

    /// Adds one duration; a negative one counts as zero.
    public mutating func add(_ duration: Duration) { add(microseconds: duration.wholeMicroseconds) }

    mutating func add(microseconds: Int64) { add(Self.bucket(of: microseconds), count: 1) }

    /// Adds the counts of other buckets.
    public mutating func add(_ other: DurationBuckets) {
        for (bucket, count) in other.counts { add(bucket, count: count) }
    }

    mutating func add(_ bucket: Int, count more: Int) {
        counts[bucket, default: 0] += more
        count += more
    }

    /// The duration that `fraction` of the added ones do not exceed, as the middle of its bucket; nil if empty.
    public func quantile(_ fraction: Double) -> Duration? {
        guard count > 0 else { return nil }
        let rank = min(count, max(1, Int((min(max(fraction, 0), 1) * Double(count)).rounded(.up))))
        var seen = 0
        for (bucket, count) in counts.sorted(by: { $0.key < $1.key }) {
            seen += count
            if seen >= rank { return .microseconds(Self.middle(of: bucket)) }
        }
        return nil
    }

    /// The nonempty buckets in ascending order: lower bound, exclusive upper bound, count.
    public var ranges: [(from: Duration, to: Duration, count: Int)] {
        counts.sorted { $0.key < $1.key }.map {
            (.microseconds(Self.start(of: $0.key)), .microseconds(Self.start(of: $0.key + 1)), $0.value)
        }
    }

    // MARK: - Buckets

    /// The number of buckets, including empty ones.
    static let places = bucket(of: .max) + 1

    private static func bucket(of microseconds: Int64) -> Int {
        scale.bucket(of: UInt64(min(max(microseconds, 0), longest)))
    }

    private static func start(of bucket: Int) -> Int64 { Int64(scale.start(of: bucket)) }

    private static func middle(of bucket: Int) -> Int64 { (start(of: bucket) + start(of: bucket + 1)) / 2 }

    // MARK: - Bytes

    /// The encoded form for the store: for each bucket, the distance from the previous one and its count, in base 128.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        var last = 0
        for (bucket, count) in counts.sorted(by: { $0.key < $1.key }) {
            Base128.append(UInt64(bucket - last), to: &bytes)
            Base128.append(UInt64(count), to: &bytes)
            last = bucket
        }
        return bytes
    }

    /// Reads ``bytes``; nil if they are damaged.
    init?(bytes: [UInt8]) {
        guard bytes.withUnsafeBytes({ add(bytes: $0) }) else { return nil }
    }

    /// Adds the counts in the ``bytes`` of others; returns false at the first damage, after adding what precedes it.
    @discardableResult
    mutating func add(bytes: UnsafeRawBufferPointer) -> Bool {
        Self.read(bytes) { add($0, count: $1) }
    }

    /// Calls `body` with each bucket in ``bytes`` and its count; returns false at the first damage.
    ///
    /// Each bucket is below ``places``, and the sum of a row's counts does not overflow.
    static func read(_ bytes: UnsafeRawBufferPointer, _ body: (Int, Int) -> Void) -> Bool {
        var reader = Base128Reader(bytes)
        var bucket = 0
        var room = UInt64(largestCount)
        let last = UInt64(places - 1)
        while let distance = reader.next() {
            guard let count = reader.next(), distance <= last - UInt64(bucket), count <= room else { return false }
            bucket += Int(distance)
            room -= count
            body(bucket, Int(count))
        }
        return true
    }

    /// Whether all buckets have equal counts.
    public static func == (left: DurationBuckets, right: DurationBuckets) -> Bool { left.counts == right.counts }
}
