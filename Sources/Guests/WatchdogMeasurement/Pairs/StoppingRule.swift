// SPDX-License-Identifier: Apache-2.0

/// Decides after how many pairs a comparison stops: as soon as its answer is clear.
///
/// Whoever tests after every pair finds a "significant" difference sooner or later. The rule therefore tests rarely, after
/// ``firstLook`` pairs and then whenever their number has grown by half, and each time demands far more than
/// ``PairedRatio/significance``. All looks together mistake equal programs for a regression in less than 1 % of the
/// comparisons: ``lookSignificance`` × 13 looks + ``lastSignificance``.
public enum StoppingRule {
    /// The number of pairs before the first look: with fewer, no p can be below ``lookSignificance``, as 2⁻¹² < 0.0003.
    public static let firstLook = 12
    /// The p below which a difference ends the comparison.
    public static let lookSignificance = 0.0003
    /// The number of pairs after which a comparison ends in any case.
    public static let mostPairs = 2_000
    /// The p below which a difference is significant when the time or the pairs are used up.
    public static let lastSignificance = 0.005

    /// The number of pairs at the look that follows one.
    public static func look(after pairs: Int) -> Int { max(firstLook, pairs + pairs / 2) }

    /// Whether the answer is clear, so that no further pair is needed.
    ///
    /// It is for a regression with a p below ``lookSignificance``, if the 99 % interval ends below the threshold, and if
    /// the 95 % interval is no wider than the threshold: the ratio is then known well enough to be compared with it.
    ///
    /// - Parameter threshold: 0.03 for 3 %.
    public static func isDecided(_ ratio: PairedRatio, threshold: Double) -> Bool {
        if ratio.verdict(threshold: threshold, significance: lookSignificance) == .regression { return true }
        if ratio.isPrecise(threshold) { return ratio.ratio <= 1 + threshold }
        return ratio.ceiling.map { $0 <= 1 + threshold } ?? false
    }

    /// The answer after the last look.
    public static func verdict(_ ratio: PairedRatio, threshold: Double) -> RegressionVerdict {
        ratio.verdict(threshold: threshold, significance: lastSignificance)
    }

    /// About how many pairs a comparison needs, from one that was not decided.
    ///
    /// An interval becomes narrower with the square root of the number of pairs.
    public static func pairsNeeded(_ ratio: PairedRatio, threshold: Double) -> Int? {
        guard let lower = ratio.lower, let upper = ratio.upper, lower > 0, upper > lower else { return nil }
        let width = (upper / lower - 1) / threshold
        let pairs = Double(ratio.pairs) * width * width
        return pairs < 1e9 ? max(ratio.pairs + 1, Int(pairs.rounded(.up))) : nil
    }
}
