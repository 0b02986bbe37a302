// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The ratio of a new program's results to an old one's, from pairs of adjacent runs.
///
/// A disturbance that is longer than a pair affects both runs, and cancels out of their ratio.
public struct PairedRatio: Codable, Equatable, Sendable {
    /// The number of pairs.
    public let pairs: Int
    /// New divided by old: the Hodges–Lehmann estimate on logarithms.
    public let ratio: Double
    /// The lower end of the ratio's 95 % confidence interval; nil with fewer than six pairs.
    public let lower: Double?
    /// The upper end of the interval.
    public let upper: Double?
    /// The upper end of the 99 % interval; nil with fewer than eight pairs.
    public let ceiling: Double?
    /// The probability of such pairs, or of more extreme ones, if the new program is not slower.
    public let p: Double

    /// Compares pairs; pairs with a value that is not positive are omitted.
    public init(_ pairs: [(old: Double, new: Double)]) {
        let logarithms = pairs.filter { $0.old > 0 && $0.new > 0 }.map { log($0.new / $0.old) }
        let test = SignedRank(logarithms)
        self.pairs = logarithms.count
        ratio = exp(test.shift)
        lower = test.interval.map { exp($0.lowerBound) }
        upper = test.interval.map { exp($0.upperBound) }
        ceiling = test.ceiling.map { exp($0) }
        p = test.pGreater
    }

    /// Decides whether the new program is slower by more than a threshold.
    ///
    /// A regression needs both a p below the significance and a ratio above the threshold. Without one, the answer is
    /// ``RegressionVerdict/noRegression`` only if the interval is precise enough: it ends below the threshold, or it is
    /// no wider than the threshold and the ratio is below.
    ///
    /// - Parameters:
    ///   - threshold: 0.03 for 3 %.
    ///   - significance: The p below which a difference is significant.
    public func verdict(threshold: Double, significance: Double = significance) -> RegressionVerdict {
        if p < significance, ratio > 1 + threshold { return .regression }
        guard let upper else { return .unclear }
        return upper <= 1 + threshold || isPrecise(threshold) && ratio <= 1 + threshold ? .noRegression : .unclear
    }

    /// Whether the 95 % interval is no wider than a threshold.
    func isPrecise(_ threshold: Double) -> Bool {
        guard let lower, let upper else { return false }
        return upper / lower <= 1 + threshold
    }

    /// The p below which a difference is significant if the number of pairs was fixed before the first.
    public static let significance = 0.01
    /// The number of pairs below which no p can be that small: 2⁻⁶ > 0.01 > 2⁻⁷.
    public static let fewestPairs = 7
}

/// Whether a new program is slower than an old one.
public enum RegressionVerdict: String, Codable, Sendable, CaseIterable {
    /// It is not slower by more than the threshold.
    case noRegression
    /// It is slower by more than the threshold.
    case regression
    /// The results vary too much.
    case unclear
}
