// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// How long something took: the count, the median, the tail and the maximum.
public struct LatencySummary: Hashable, Sendable, Codable {
    /// The number of measurements.
    public var count: Int
    /// Half of them took no longer.
    public var median: Microseconds?
    /// 99 % of them took no longer.
    public var percentile99: Microseconds?
    /// The longest.
    public var maximum: Microseconds?

    /// Creates a summary; the durations are nil when nothing was measured.
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
