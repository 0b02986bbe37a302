// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Robust statistics of a set of values.
public struct SampleSummary: Codable, Equatable, Sendable {
    /// The number of values.
    public let count: Int
    /// The middle value, or the mean of the two middle ones.
    public let median: Double
    /// The median of the distances from the median.
    public let medianAbsoluteDeviation: Double
    /// The smallest value.
    public let minimum: Double
    /// The smallest value that at least 90 % of the values do not exceed.
    public let ninetiethPercentile: Double

    /// Summarizes values; nil without any.
    public init?(_ figures: some Sequence<Double>) {
        let sorted = figures.sorted()
        guard let first = sorted.first, let median = sorted.median else { return nil }
        count = sorted.count
        self.median = median
        medianAbsoluteDeviation = sorted.map { abs($0 - median) }.median ?? 0
        minimum = first
        ninetiethPercentile = sorted[(sorted.count * 9 + 9) / 10 - 1]
    }
}
