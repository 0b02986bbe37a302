// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// A histogram in a few rows with round limits.
struct DurationRows: Equatable {
    /// One row: lower bound, exclusive upper bound, count.
    struct Row: Equatable {
        let from: Duration
        let to: Duration
        var count: Int
    }

    private static let most = 14
    /// Series of limits within a power of ten, multiplied by ten, the finest first.
    private static let series: [[Int64]] = [
        [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 24, 26, 28, 30, 35, 40, 45, 50, 60, 70, 80, 90],
        [10, 12, 15, 20, 25, 30, 40, 50, 60, 80], [10, 20, 50], [10],
    ]

    private(set) var rows: [Row] = []

    init(_ durations: DurationBuckets) {
        let ranges = durations.ranges.map { (middle: ($0.from + $0.to) / 2, count: $0.count) }
        guard let first = ranges.first?.middle, let last = ranges.last?.middle else { return }
        for series in Self.series {
            let limits = Self.limits(series, from: first, to: last)
            guard limits.count <= Self.most + 1 || series.count == 1 else { continue }
            rows = zip(limits, limits.dropFirst()).map { Row(from: $0, to: $1, count: 0) }
            break
        }
        var row = 0
        for range in ranges {
            while row < rows.count - 1, range.middle >= rows[row].to { row += 1 }
            rows[row].count += range.count
        }
    }

    /// The limits of a series from the last one not above `first` to the first one above `last`.
    private static func limits(_ series: [Int64], from first: Duration, to last: Duration) -> [Duration] {
        var limits: [Duration] = [.zero]
        var scale: Int64 = 100
        while true {
            for step in series {
                let limit = Duration.nanoseconds(step * scale)
                if limit <= first { limits = [limit] } else { limits.append(limit) }
                if limit > last { return limits }
            }
            guard scale < 1 << 56 else { return limits }
            scale *= 10
        }
    }
}
