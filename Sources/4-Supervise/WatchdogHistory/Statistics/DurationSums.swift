// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The sum of buckets from many rows of the store.
///
/// A sum of few rows is compact, because there may be many sums; a sum of many rows is a flat array, which is fast to
/// add to.
struct DurationSums {
    /// A sum of more rows uses an array of all buckets, 11 KB.
    private static let fewRows = 32

    private var few = DurationBuckets()
    private var many: [Int] = []
    private var rows = 0

    mutating func add(_ duration: Duration) { few.add(duration) }

    /// Adds the counts in bytes of ``DurationBuckets``, up to the first damage.
    mutating func add(bytes: UnsafeRawBufferPointer) {
        rows += 1
        guard rows > Self.fewRows else {
            few.add(bytes: bytes)
            return
        }
        if many.isEmpty { many = Array(repeating: 0, count: DurationBuckets.places) }
        many.withUnsafeMutableBufferPointer { places in
            guard let start = places.baseAddress else { return }
            // Unchecked access is safe: read(_:_:) yields only buckets below `places`.
            _ = DurationBuckets.read(bytes) { start[$0] += $1 }
        }
    }

    /// The sum.
    var buckets: DurationBuckets {
        var buckets = few
        for (bucket, count) in many.enumerated() where count > 0 { buckets.add(bucket, count: count) }
        return buckets
    }
}
