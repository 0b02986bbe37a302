// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// Statistics of durations: the count, the median, the tail and the maximum.
public struct LatencySummary: Hashable, Sendable, Codable {
    /// The number of measurements.
    public var count: Int
    /// The median.
    public var median: Microseconds?
    /// The 99th percentile.
    public var percentile99: Microseconds?
    /// The maximum.
    public var maximum: Microseconds?

    /// Creates a summary; the durations are nil without measurements.
    public init(count: Int = 0, median: Duration? = nil, percentile99: Duration? = nil, maximum: Duration? = nil) {
        self.count = count
        self.median = median.map { Microseconds($0) }
        self.percentile99 = percentile99.map { Microseconds($0) }
        self.maximum = maximum.map { Microseconds($0) }
    }

    /// Summarizes a histogram.
    public init(_ histogram: LatencyHistogram) {
        self.init(
            count: histogram.count,
            median: histogram.quantile(0.5),
            percentile99: histogram.quantile(0.99),
            maximum: histogram.count > 0 ? histogram.maximum : nil
        )
    }

    private enum CodingKeys: String, CodingKey {
        case count
        case median = "p50USec"
        case percentile99 = "p99USec"
        case maximum = "maxUSec"
    }
}
