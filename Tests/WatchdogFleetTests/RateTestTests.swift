// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

@testable import WatchdogFleet

@Suite("Comparing two rates")
struct RateTestTests {
    private static func test(
        _ before: Int, _ after: Int, _ exposureBefore: Double, _ exposureAfter: Double
    ) -> RateTest? {
        RateTest([
            RateTest.Host(before: before, after: after, exposureBefore: exposureBefore, exposureAfter: exposureAfter)
        ])
    }

    @Test("Each host is compared with itself: signatures of busier hosts are not an increase")
    func hosts() throws {
        let quiet = RateTest.Host(before: 10, after: 1, exposureBefore: 100, exposureAfter: 10)
        let busy = RateTest.Host(before: 10, after: 100, exposureBefore: 10, exposureAfter: 100)
        let test = try #require(RateTest([quiet, busy]))
        #expect(test.before == 20 && test.after == 101 && abs(test.ratio - 1) < 1e-9 && test.p > 0.3)
        // A host with only one side contributes nothing.
        let other = RateTest.Host(before: 0, after: 1_000, exposureBefore: 0, exposureAfter: 10)
        #expect(RateTest([quiet, busy, other]) == test)
    }

    @Test("p is the tail of the binomial distribution")
    func tail() throws {
        // scipy.stats.binomtest(15, 20, 0.5, alternative="greater").pvalue and so on.
        let cases: [(before: Int, after: Int, exposures: (Double, Double), p: Double)] = [
            (5, 15, (10, 10), 0.020_694_732_666_015_625), (10, 10, (10, 10), 0.588_098_526_000_976_6),
            (0, 7, (100, 300), 0.133_483_886_718_75), (20, 0, (1, 1), 1),
            (100, 160, (50, 50), 0.000_121_7), (30, 30, (300, 100), 2.7e-5),
        ]
        for (before, after, exposures, p) in cases {
            let test = try #require(
                Self.test(before, after, exposures.0, exposures.1))
            let exact = Self.tail(of: after, among: before + after, share: exposures.1 / (exposures.0 + exposures.1))
            #expect(abs(test.p - exact) <= 1e-9 * max(exact, 1e-9), "\(before), \(after): \(test.p) and \(exact)")
            #expect(abs(test.p / p - 1) < 0.2, "\(before), \(after): \(test.p)")
        }
    }

    /// The same with Pascal's triangle of probabilities.
    private static func tail(of count: Int, among all: Int, share: Double) -> Double {
        var chances = [1.0]
        for _ in 0..<all {
            var next = [Double](repeating: 0, count: chances.count + 1)
            for (k, chance) in chances.enumerated() {
                next[k] += chance * (1 - share)
                next[k + 1] += chance * share
            }
            chances = next
        }
        return chances[count...].reduce(0, +)
    }

    @Test("p stays a probability for large counts and lopsided exposures")
    func extremes() throws {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<300 {
            let before = random.below(100_000)
            let after = random.below(100_000) + 1
            let exposures = (
                pow(10, Double.random(in: -6..<6, using: &random)), pow(10, Double.random(in: -6..<6, using: &random))
            )
            let test = try #require(
                Self.test(before, after, exposures.0, exposures.1))
            #expect((0...1).contains(test.p) && (0...1).contains(test.smallestP))
            #expect(test.p >= test.smallestP * (1 - 1e-6) - 1e-12)
        }
    }

    @Test("Without exposure or events there is nothing to test")
    func nothing() {
        #expect(Self.test(1, 1, 0, 1) == nil)
        #expect(Self.test(1, 1, 1, -1) == nil)
        #expect(Self.test(0, 0, 1, 1) == nil)
        #expect(Self.test(-1, 3, 1, 1) == nil)
        #expect(Self.test(1, 3, .infinity, 1) == nil)
    }

    @Test("Signatures too rare to prove anything do not tighten the limit")
    func limit() throws {
        let rare = try #require(Self.test(1, 1, 1, 1))
        let frequent = try #require(Self.test(20, 20, 1, 1))
        #expect(RateTest.limit([], falseAlarms: 0.01) == 0.01)
        #expect(RateTest.limit([frequent], falseAlarms: 0.01) == 0.01)
        #expect(RateTest.limit([frequent] + Array(repeating: rare, count: 1_000), falseAlarms: 0.01) == 0.01)
        #expect(RateTest.limit(Array(repeating: frequent, count: 10), falseAlarms: 0.01) == 0.001)
    }
}
