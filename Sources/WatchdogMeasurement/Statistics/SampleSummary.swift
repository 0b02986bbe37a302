// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// What a set of figures has in common, by values that outliers do not move.
public struct SampleSummary: Codable, Equatable, Sendable {
    /// How many figures there are.
    public let count: Int
    /// The middle figure, or the mean of the two middle ones.
    public let median: Double
    /// The median of the distances from the median.
    public let medianAbsoluteDeviation: Double
    /// The smallest figure.
    public let minimum: Double
    /// The smallest figure that at least 90 % of the figures do not exceed.
    public let ninetiethPercentile: Double

    /// Summarizes figures; nil if there are none.
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
