// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogVerdict

/// Durations measured in the same way, one per repetition.
struct Sample {
    private var values: [Duration] = []

    var count: Int { values.count }

    mutating func add(_ value: Duration) { values.append(value) }

    /// The middle value, of an even number the mean of the two.
    var median: Duration? {
        guard !values.isEmpty else { return nil }
        let sorted = values.sorted()
        return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }

    /// The value that 99 of 100 do not exceed (nearest rank); below a hundred values that is the largest.
    var p99: Duration? {
        guard !values.isEmpty else { return nil }
        let rank = (values.count * 99 + 99) / 100
        return values.sorted()[rank - 1]
    }
}

extension Duration {
    var milliseconds: Double { Double(nanoseconds) / 1_000_000 }
}
