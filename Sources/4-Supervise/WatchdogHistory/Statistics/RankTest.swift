// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase

/// The Mann–Whitney test: whether values of one group tend to be larger than those of another.
///
/// It compares ranks only, so that a single outlier cannot decide.
struct RankTest: Equatable, Sendable {
    /// The probability of ranks at least as extreme if both groups had the same distribution; one-sided.
    let p: Double
    /// The Hodges–Lehmann estimate of the ratio: the median of all ratios of a later to an earlier value.
    let ratio: Double

    /// Tests whether `later` is larger than `earlier`; nil if a group is empty.
    init?(_ earlier: [Double], _ later: [Double]) {
        guard !earlier.isEmpty, !later.isEmpty else { return nil }
        var ratios: [Double] = []
        // The number of pairs in which the later value is larger; a tie counts half.
        var wins = 0.0
        for new in later {
            for old in earlier {
                wins += new > old ? 1 : new == old ? 0.5 : 0
                ratios.append(new / max(old, 1))
            }
        }
        ratio = ratios.median ?? 1
        p =
            max(earlier.count, later.count) <= 16
            ? Self.exact(earlier.count, later.count, wins: Int(wins))
            : Self.approximate(earlier.count, later.count, wins: wins)
    }

    /// The fraction of all permutations of the ranks with at least this many wins.
    private static func exact(_ earlier: Int, _ later: Int, wins: Int) -> Double {
        // ways[n][w]: permutations of n later values and of the earlier values so far, with w wins.
        var ways = [[Double]](repeating: [1], count: later + 1)
        for size in 1...earlier {
            var next: [[Double]] = [[1]]
            for new in 1...later {
                // The largest value is a later one, which wins against all earlier ones, or an earlier one.
                var counts = [Double](repeating: 0, count: size * new + 1)
                for (wins, count) in next[new - 1].enumerated() { counts[wins + size] += count }
                for (wins, count) in ways[new].enumerated() { counts[wins] += count }
                next.append(counts)
            }
            ways = next
        }
        let counts = ways[later]
        return counts[min(wins, counts.count - 1)...].reduce(0, +) / counts.reduce(0, +)
    }

    /// The normal approximation with a correction for continuity.
    private static func approximate(_ earlier: Int, _ later: Int, wins: Double) -> Double {
        let (a, b) = (Double(earlier), Double(later))
        let deviation = (a * b * (a + b + 1) / 12).squareRoot()
        return erfc((wins - 0.5 - a * b / 2) / deviation / 2.0.squareRoot()) / 2
    }
}
