// SPDX-License-Identifier: Apache-2.0

/// The checks that a measurement must pass.
public struct MeasurementChecks: Equatable, Sendable {
    /// The maximum median of the wall time; nil for no limit.
    public var maximum: Duration?
    /// The tolerated slowdown against the other program: 0.03 for 3 %.
    public var threshold: Double
    /// An earlier measurement; nil for none.
    public var baseline: Baseline?
    /// The tolerated excess of counters over the baseline: 0.02 for 2 %.
    public var tolerance: Double

    /// Creates a value.
    public init(
        maximum: Duration? = nil, threshold: Double = 0.03, baseline: Baseline? = nil,
        tolerance: Double = Baseline.tolerance
    ) {
        self.maximum = maximum
        self.threshold = threshold
        self.baseline = baseline
        self.tolerance = tolerance
    }

    /// The results; a single unclear one if no run counts.
    public func answers(_ measurement: Measurement) -> [MeasurementCheck] {
        guard let figures = measurement.figures(of: .new) else {
            return [.nothingCounts(isCold: measurement.conditions.isCold)]
        }
        var checks: [MeasurementCheck] = []
        if let maximum { checks.append(.maximum(maximum, wall: figures.wall)) }
        if let ratio = measurement.cpuRatio {
            checks.append(.against(ratio, threshold: threshold, sequence: measurement.sequence))
        }
        if let baseline { checks += baseline.checks(measurement, tolerance: tolerance) }
        return checks
    }
}
