// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The sum of buckets from many rows of the store.
///
/// A sum of few rows takes little memory, because there may be many sums; one of many rows is cheap to add to.
struct DurationSums {
    /// A sum of more rows has a place for every bucket, in 11 KB.
    private static let fewRows = 32

    private var few = DurationBuckets()
    private var many: [Int] = []
    private var rows = 0

    mutating func add(_ duration: Duration) { few.add(duration) }

    /// Adds what the bytes of ``DurationBuckets`` hold, up to where they are damaged.
    mutating func add(bytes: UnsafeRawBufferPointer) {
        rows += 1
        guard rows > Self.fewRows else {
            few.add(bytes: bytes)
            return
        }
        if many.isEmpty { many = Array(repeating: 0, count: DurationBuckets.places) }
        many.withUnsafeMutableBufferPointer { places in
            guard let start = places.baseAddress else { return }
            // The buckets of a row are below the number of places.
            _ = DurationBuckets.read(bytes) { start[$0] += $1 }
        }
    }

    /// What was added.
    var buckets: DurationBuckets {
        var buckets = few
        for (bucket, count) in many.enumerated() where count > 0 { buckets.add(bucket, count: count) }
        return buckets
    }
}
