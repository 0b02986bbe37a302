// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase

/// Wilcoxon's signed-rank test of paired differences, and the corresponding estimate.
///
/// Source: Hollander, Wolfe, Chicken, "Nonparametric Statistical Methods", 3rd edition, sections 3.1 to 3.3.
/// Differences of zero are omitted, and equal sizes share the mean of their ranks. The null distribution is exact,
/// given those ranks, for up to ``mostExact`` differences; beyond, it is the normal approximation with a continuity
/// correction.
public struct SignedRank: Equatable, Sendable {
    /// The number of differences for which the null distribution is exact.
    public static let mostExact = 120

    /// The number of differences that are not zero.
    public let count: Int
    /// The sum of the ranks of the positive differences.
    public let positiveRanks: Double
    /// The probability of such a sum, or a larger one, if positive and negative differences are equally likely; 1 without
    /// differences.
    public let pGreater: Double
    /// The Hodges–Lehmann estimate: the median of the means of all pairs of differences, zeros included; 0 without any.
    public let shift: Double
    /// The 95 % confidence interval of the shift; nil for fewer than six differences.
    public let interval: ClosedRange<Double>?
    /// The upper end of the 99 % confidence interval of the shift; nil for fewer than eight differences.
    public let ceiling: Double?

    /// Tests whether the differences tend to be positive.
    public init(_ differences: [Double]) {
        let ranked = Self.ranked(differences.filter { $0 != 0 })
        count = ranked.count
        let doubled = ranked.map(\.doubledRank)
        let sum = ranked.reduce(0) { $0 + ($1.isPositive ? $1.doubledRank : 0) }
        positiveRanks = Double(sum) / 2
        pGreater = ranked.isEmpty ? 1 : Self.upperTail(doubled, from: sum)
        let means = Self.walshAverages(differences)
        shift = means.median ?? 0
        let cuts = Self.cuts(differences.count, [.ninetyFive, .ninetyNine])
        interval = cuts[0].map { means[$0 - 1]...means[means.count - $0] }
        ceiling = cuts[1].map { means[means.count - $0] }
    }

    // MARK: Ranks

    /// Twice the ranks of the sizes: these are integers even if equal sizes share a mean rank.
    private static func ranked(_ differences: [Double]) -> [(doubledRank: Int, isPositive: Bool)] {
        let sorted = differences.sorted { abs($0) < abs($1) }
        var ranked: [(doubledRank: Int, isPositive: Bool)] = []
        var start = 0
        while start < sorted.count {
            let end = sorted[start...].firstIndex { abs($0) != abs(sorted[start]) } ?? sorted.count
            // Ranks start + 1 ... end; twice their mean.
            ranked += sorted[start..<end].map { (start + 1 + end, $0 > 0) }
            start = end
        }
        return ranked
    }

    private static func walshAverages(_ differences: [Double]) -> [Double] {
        var means: [Double] = []
        means.reserveCapacity(differences.count * (differences.count + 1) / 2)
        for (index, first) in differences.enumerated() {
            for second in differences[index...] { means.append((first + second) / 2) }
        }
        return means.sorted()
    }

    // MARK: Null distribution

    /// The probability of each sum of ranks if each rank is included with probability 1/2.
    private static func distribution(_ ranks: [Int]) -> [Double] {
        let largest = ranks.reduce(0, +)
        var probabilities = [Double](repeating: 0, count: largest + 1)
        probabilities[0] = 1
        var reached = 0
        for rank in ranks {
            reached += rank
            for sum in stride(from: reached, through: 0, by: -1) {
                probabilities[sum] = (probabilities[sum] + (sum >= rank ? probabilities[sum - rank] : 0)) / 2
            }
        }
        return probabilities
    }

    private static func upperTail(_ ranks: [Int], from sum: Int) -> Double {
        guard ranks.count > mostExact else { return min(distribution(ranks)[sum...].reduce(0, +), 1) }
        let mean = Double(ranks.reduce(0, +)) / 2
        let deviation = (ranks.reduce(0.0) { $0 + Double($1) * Double($1) } / 4).squareRoot()
        // The continuity correction: without ties, sums of doubled ranks are two apart.
        return erfc((Double(sum) - mean - 1) / deviation / 2.0.squareRoot()) / 2
    }

    /// A level of confidence: the probability beyond each end of the interval, and that end in the normal distribution.
    private struct Level {
        let tail: Double
        let quantile: Double

        static let ninetyFive = Level(tail: 0.025, quantile: 1.959_964)
        static let ninetyNine = Level(tail: 0.005, quantile: 2.575_829)
    }

    /// For each level the number of means to omit on each side, plus one, so that it remains; nil if there are too few.
    private static func cuts(_ count: Int, _ levels: [Level]) -> [Int?] {
        guard count > 0 else { return levels.map { _ in nil } }
        guard count <= mostExact else {
            let sums = Double(count) * Double(count + 1) / 2
            let deviation = (sums * Double(2 * count + 1) / 12).squareRoot()
            return levels.map { max(1, Int(sums / 2 - $0.quantile * deviation)) }
        }
        let probabilities = distribution(Array(1...count))
        return levels.map { level in
            var below = 0.0
            var cut = 0
            for probability in probabilities {
                guard below + probability <= level.tail else { break }
                below += probability
                cut += 1
            }
            return cut > 0 ? cut : nil
        }
    }
}
