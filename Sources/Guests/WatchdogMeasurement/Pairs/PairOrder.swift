// SPDX-License-Identifier: Apache-2.0

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
