// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import WatchdogMeasurement

/// Expected values: scipy 1.17.1, `scipy.stats.wilcoxon(d, alternative="greater", method="exact")`, and the definition
/// of the Hodges–Lehmann estimate evaluated with numpy; with ties, the enumeration of all sign patterns.
@Suite("The signed-rank test")
struct SignedRankTests {
    private func isNear(_ value: Double, _ expected: Double, within tolerance: Double = 1e-12) -> Bool {
        abs(value - expected) <= tolerance
    }

    @Test(
        "It matches the depression scores of nine patients: Hollander and Wolfe, example 3.1; R's help of wilcox.test")
    func published() throws {
        let before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
        let after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
        let test = SignedRank(zip(before, after).map { $0 - $1 })
        #expect(test.count == 9)
        #expect(test.positiveRanks == 40)
        #expect(isNear(test.pGreater, 0.01953125))
        #expect(isNear(test.shift, 0.46))
        // W(6) and W(40): 0.010 and 0.786, a level of 96.1 %.
        let interval = try #require(test.interval)
        #expect(isNear(interval.lowerBound, 0.01) && isNear(interval.upperBound, 0.786))
    }

    @Test("Eight differences without a direction prove nothing")
    func indifferent() throws {
        let test = SignedRank([-0.05, 0.011, 0.032, -0.021, 0.013, 0.054, -0.043, 0.002])
        #expect(test.positiveRanks == 19)
        #expect(isNear(test.pGreater, 0.47265625))
        #expect(isNear(test.shift, 0.002))
        let interval = try #require(test.interval)
        #expect(isNear(interval.lowerBound, -0.0355) && isNear(interval.upperBound, 0.0325))
    }

    @Test("Thirty differences match the expected values")
    func thirty() throws {
        let test = SignedRank([
            0.0204, 0.0346, 0.0199, -0.0291, 0.0372, 0.0234, -0.0061, 0.0274, 0.0209, 0.0188, 0.0109, 0.0264, -0.0121,
            0.0051, -0.0045, 0.028, 0.0112, 0.0012, -0.0135, 0.0023, 0.0102, 0.0017, 0.0488, 0.0402, -0.0713, -0.0467,
            0.0048, -0.0027, 0.0164, 0.0165,
        ])
        #expect(test.positiveRanks == 341)
        #expect(isNear(test.pGreater, 0.012393025681376457))
        #expect(isNear(test.shift, 0.0108))
        let interval = try #require(test.interval)
        #expect(isNear(interval.lowerBound, 0.00215) && isNear(interval.upperBound, 0.01845))
    }

    @Test("Equal sizes share their mean rank, and the distribution stays exact")
    func ties() {
        let test = SignedRank([1, 1, 2, -1, 3, 2, -2, 4, 5, 3])
        #expect(test.positiveRanks == 48)
        #expect(isNear(test.pGreater, 0.01953125))
        #expect(test.shift == 2)
        let other = SignedRank([0.02, 0.05, -0.01, 0.03, 0.08, 0.04, -0.02, 0.06, 0.07, 0.01])
        #expect(other.positiveRanks == 50)
        #expect(isNear(other.pGreater, 0.0107421875))
    }

    @Test("Differences of zero count only for the estimate")
    func zeros() {
        let test = SignedRank([0, 0, 1, 2, -1])
        #expect(test.count == 3)
        #expect(test.shift == 0.5)
        #expect(SignedRank([]).pGreater == 1)
        #expect(SignedRank([]).shift == 0)
        #expect(SignedRank([0, 0, 0]).pGreater == 1)
        #expect(SignedRank([0, 0, 0]).interval == nil)
    }

    @Test("Six differences have an interval; five have none")
    func fewest() {
        #expect(SignedRank([1, 2, 3, 4, 5]).interval == nil)
        #expect(SignedRank([1, 2, 3, 4, 5, 6]).interval == 1...6)
        #expect(SignedRank([1, 2, 3, 4, 5, 6]).pGreater == 1.0 / 64)
        #expect(SignedRank([1, 2, 3, 4, 5, 6, 7]).pGreater == 1.0 / 128)
    }

    @Test("Beyond the exact range, the normal approximation agrees with the exact distribution")
    func many() {
        func differences(_ count: Int) -> [Double] { (1...count).map { sin(Double($0)) + 0.1 } }
        #expect(isNear(SignedRank(differences(100)).pGreater, 0.050755412956715706, within: 1e-9))
        let test = SignedRank(differences(150))
        #expect(isNear(test.pGreater, 0.022637240781977153, within: 2e-3))
        #expect(test.interval.map { $0.contains(test.shift) } == true)
    }
}
