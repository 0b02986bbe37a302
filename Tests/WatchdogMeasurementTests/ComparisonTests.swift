// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogMeasurement

@Suite("Comparing two programs")
struct ComparisonTests {
    /// Pairs on a machine that drifts by a third, with runs that vary by 5 % and a tenth that are disturbed.
    private func pairs(_ count: Int, slowdown: Double, seed: UInt64) -> [(old: Double, new: Double)] {
        var generator = SeededGenerator(seed: seed)
        return (0..<count).map { index in
            let machine = 1 + 0.33 * sin(Double(index) / 9 + Double(seed))
            func run(_ factor: Double) -> Double {
                let disturbance = Double.random(in: 0..<1, using: &generator) < 0.1 ? 1.3 : 1
                return 40e6 * machine * factor * disturbance * exp(0.05 * generator.normal())
            }
            return (run(1), run(1 + slowdown))
        }
    }

    private func verdicts(_ count: Int, slowdown: Double) -> [RegressionVerdict] {
        (1...400).map { PairedRatio(pairs(count, slowdown: slowdown, seed: $0)).verdict(threshold: 0.03) }
    }

    @Test("Equal programs cause at most 2 % false alarms", arguments: [10, 30])
    func falseAlarms(pairs: Int) {
        let alarms = verdicts(pairs, slowdown: 0).filter { $0 == .regression }.count
        #expect(alarms <= 8, "\(alarms) of 400")
    }

    @Test("A slowdown of 10 % is detected in at least 85 % of cases with thirty pairs, and never considered equal")
    func detection() {
        let found = verdicts(30, slowdown: 0.1)
        #expect(found.filter { $0 == .regression }.count >= 340)
        #expect(found.filter { $0 == .noRegression }.count == 0)
    }

    @Test("A faster program is not a regression, however imprecise the figures")
    func faster() {
        #expect(!verdicts(10, slowdown: -0.2).contains(.regression))
        #expect(verdicts(30, slowdown: -0.2).filter { $0 == .noRegression }.count == 400)
    }

    @Test("A proven slowdown below the threshold passes; one above it fails")
    func threshold() {
        let slower = (1...20).map { index in (old: 1000.0 + Double(index), new: (1000 + Double(index)) * 1.03) }
        #expect(PairedRatio(slower).verdict(threshold: 0.029) == .regression)
        #expect(PairedRatio(slower).verdict(threshold: 0.031) == .noRegression)
    }

    @Test("Seven pairs can prove a regression; six cannot")
    func fewestPairs() {
        func pairs(_ count: Int) -> [(old: Double, new: Double)] {
            (1...count).map { (old: 1000, new: 1200 + Double($0)) }
        }
        #expect(PairedRatio(pairs(PairedRatio.fewestPairs)).verdict(threshold: 0.03) == .regression)
        #expect(PairedRatio(pairs(PairedRatio.fewestPairs - 1)).verdict(threshold: 0.03) == .unclear)
        #expect(PairedRatio([]).verdict(threshold: 0.03) == .unclear)
    }

    @Test("A wide interval that reaches beyond the threshold is unclear")
    func imprecise() {
        let wide = [0.8, 1.2, 0.9, 1.1, 0.85, 1.15, 1.0, 1.05, 0.95, 1.02].map { (old: 1000.0, new: 1000 * $0) }
        #expect(PairedRatio(wide).verdict(threshold: 0.03) == .unclear)
        #expect(PairedRatio(wide).verdict(threshold: 0.5) == .noRegression)
    }

    @Test("The order is ABBA")
    func order() {
        let order = (0..<4).flatMap { PairOrder.programs(pair: $0, isComparison: true) }
        #expect(order == [.old, .new, .new, .old, .old, .new, .new, .old])
        #expect(PairOrder.programs(pair: 1, isComparison: false) == [.new])
    }
}
