// SPDX-License-Identifier: Apache-2.0

/// Follows a comparison, and ends it when its answer is clear or its time is over.
public struct ComparisonWatch {
    private let threshold: Double
    private let limit: Duration
    private var next = StoppingRule.firstLook

    /// Begins to follow a comparison.
    ///
    /// - Parameters:
    ///   - threshold: 0.03 for 3 %.
    ///   - limit: The time limit of all pairs.
    public init(threshold: Double, limit: Duration) {
        self.threshold = threshold
        self.limit = limit
    }

    /// Whether another pair is needed.
    ///
    /// No pair begins that would probably end after the limit, unless there are too few for any answer. If no pair of the
    /// first ones counts, the next ones are unlikely to count, either.
    ///
    /// - Parameters:
    ///   - measurement: All pairs so far.
    ///   - elapsed: The time since the first one began.
    public mutating func needsPair(after measurement: Measurement, elapsed: Duration) -> Bool {
        let made = measurement.runs.count { !$0.isDiscarded } / 2
        let counted = measurement.pairs.count
        if counted >= next, let ratio = measurement.cpuRatio {
            if StoppingRule.isDecided(ratio, threshold: threshold) { return false }
            next = StoppingRule.look(after: counted)
        }
        if counted >= StoppingRule.mostPairs || made >= 2 * StoppingRule.mostPairs { return false }
        if counted == 0, made >= 2 * StoppingRule.firstLook { return false }
        let pairs = max(measurement.runs.count / 2, 1)
        return elapsed + elapsed / pairs <= limit || made < PairedRatio.fewestPairs
    }
}

/// The order in which the two programs of a comparison run.
public enum PairOrder {
    /// The programs of one pair in their order: old, new, new, old, old, new, … from pair to pair.
    ///
    /// Neither program always runs first, so a steady drift cancels out.
    ///
    /// - Parameters:
    ///   - pair: The number of the pair, from 0.
    ///   - isComparison: Whether there is an old program.
    public static func programs(pair: Int, isComparison: Bool) -> [MeasuredProgram] {
        guard isComparison else { return [.new] }
        return pair % 2 == 0 ? [.old, .new] : [.new, .old]
    }
}

/// One of the programs of a measurement.
public enum MeasuredProgram: String, Codable, Sendable, CaseIterable {
    /// The measured program.
    case new
    /// The program for the comparison.
    case old
}
