// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

@testable import WatchdogMeasurement

@Suite("The stopping rule of comparisons")
struct StoppingRuleTests {
    private typealias Pair = (old: Double, new: Double)

    /// Blocks of five adjacent recorded pairs, in random order and with random roles, so that the programs are equal; one
    /// side is then multiplied.
    private struct Machine {
        let recorded: RecordedPairs
        let slowdown: Double
        var generator: SeededGenerator

        mutating func block() -> [Pair] {
            let start = Int.random(in: 0...(recorded.pairs.count - 5), using: &generator)
            let isSwapped = Bool.random(using: &generator)
            return recorded.pairs[start..<(start + 5)].map { pair in
                let (old, new) = isSwapped ? (pair.new, pair.old) : pair
                return (old, new * (1 + slowdown))
            }
        }
    }

    /// Compares as a session does, pair by pair.
    private func verdict(_ recorded: RecordedPairs, slowdown: Double, seed: UInt64) -> (RegressionVerdict, pairs: Int) {
        var machine = Machine(recorded: recorded, slowdown: slowdown, generator: SeededGenerator(seed: seed))
        var pairs: [Pair] = []
        var next = StoppingRule.firstLook
        while pairs.count < StoppingRule.mostPairs {
            pairs += machine.block()
            guard pairs.count >= next else { continue }
            if StoppingRule.isDecided(PairedRatio(pairs), threshold: 0.03) { break }
            next = StoppingRule.look(after: pairs.count)
        }
        return (StoppingRule.verdict(PairedRatio(pairs), threshold: 0.03), pairs.count)
    }

    private static let comparisons = StormScale.part(of: 100)

    private func count(_ verdict: RegressionVerdict, _ recorded: RecordedPairs, slowdown: Double) -> Int {
        (1...UInt64(Self.comparisons)).filter { self.verdict(recorded, slowdown: slowdown, seed: $0).0 == verdict }
            .count
    }

    @Test(
        "Of 100 comparisons on recorded noise, at most one of equal programs is a regression, and all are decided",
        arguments: [RecordedPairs.work, .python])
    private func equal(recorded: RecordedPairs) {
        #expect(recorded.pairs.count == 200)
        #expect(count(.regression, recorded, slowdown: 0) * 100 <= Self.comparisons)
        #expect(count(.unclear, recorded, slowdown: 0) == 0)
    }

    @Test(
        "Of 100 comparisons on recorded noise, at least 95 find a slowdown of 5 %",
        arguments: [RecordedPairs.work, .python])
    private func slower(recorded: RecordedPairs) {
        #expect(count(.regression, recorded, slowdown: 0.05) * 100 >= 95 * Self.comparisons)
    }

    @Test("A clear answer needs few pairs, an unclear one more")
    func effort() {
        let clear = (1...20).map { verdict(.work, slowdown: 0.2, seed: $0).pairs }.max() ?? 0
        #expect(clear <= 20)
        let close = (1...20).map { verdict(.python, slowdown: 0.03, seed: $0).pairs }.max() ?? 0
        #expect(close > 60)
    }

    @Test("Looks become rare, and all together have less than 1 % for a false alarm")
    func looks() {
        let looks = sequence(first: StoppingRule.firstLook) { StoppingRule.look(after: $0) }
            .prefix { $0 < StoppingRule.mostPairs }
        #expect(Array(looks.prefix(4)) == [12, 18, 27, 40])
        // What the looks may spend together, with the last one.
        let spent = Double(looks.reduce(0) { count, _ in count + 1 }) * StoppingRule.lookSignificance
        #expect(spent + StoppingRule.lastSignificance < 0.01)
    }

    /// Pairs without noise but for the last digit, all in one direction.
    private func ratio(_ count: Int, _ factor: Double) -> PairedRatio {
        compared(count) { number in (1000 + number) * (factor + number / 1e9) / (1000 + number) * 1000 }
    }

    /// Compares programs of which the old one always takes 1000.
    private func compared(_ count: Int, _ new: (Double) -> Double) -> PairedRatio {
        PairedRatio((1...count).map { number -> Pair in (old: 1000, new: new(Double(number))) })
    }

    @Test("Twelve pairs in one direction decide; eleven do not")
    func fewest() {
        #expect(StoppingRule.isDecided(ratio(12, 1.2), threshold: 0.03))
        #expect(ratio(11, 1.2).p > StoppingRule.lookSignificance)
        #expect(StoppingRule.verdict(ratio(12, 1.2), threshold: 0.03) == .regression)
    }

    @Test("An interval of 99 % that ends just below the threshold decides; one that ends just above does not")
    func ceiling() throws {
        let wide = compared(20) { 990 + $0 }
        let ceiling = try #require(wide.ceiling)
        #expect(ceiling > 1 && ceiling < 1.01)
        let upper = try #require(wide.upper)
        let lower = try #require(wide.lower)
        let width = upper / lower
        // Narrower than the interval of 95 %, so that only the end counts.
        let above = ceiling - 1 - 1e-9
        #expect(width > 1 + above)
        #expect(!StoppingRule.isDecided(wide, threshold: above))
        #expect(StoppingRule.isDecided(wide, threshold: ceiling - 1 + 1e-9))
    }

    @Test("An undecided comparison says how many pairs it needs: four times as many for an interval of half the width")
    func needed() throws {
        let wide = compared(30) { $0.truncatingRemainder(dividingBy: 2) == 0 ? 900 + $0 : 1100 - $0 }
        let lower = try #require(wide.lower)
        let upper = try #require(wide.upper)
        let needed = try #require(StoppingRule.pairsNeeded(wide, threshold: (upper / lower - 1) / 2))
        #expect(abs(needed - 120) <= 1)
        #expect(StoppingRule.pairsNeeded(PairedRatio([]), threshold: 0.03) == nil)
        #expect(StoppingRule.pairsNeeded(compared(30) { _ in 1000 }, threshold: 0.03) == nil)
    }
}

@Suite("The end of a comparison")
struct ComparisonWatchTests {
    /// Pairs that never decide: every other one is much slower, or much faster.
    private func measurement(pairs: Int, isCounted: Bool = true) -> Measurement {
        var measurement = MeasurementTests.measurement([])
        measurement.oldCommand = ["old"]
        for number in 0..<pairs {
            for program in [MeasuredProgram.old, .new] {
                let isSlow = (program == .new) == (number % 2 == 0)
                measurement.runs.append(
                    MeasuredRun(
                        program: program, number: number + 1, wall: .milliseconds(isSlow ? 40 : 20),
                        cpu: .microseconds((isSlow ? 40_000 : 20_000) + number), readBytes: isCounted ? 0 : 4096))
            }
        }
        return measurement
    }

    /// Asks a watch of a minute that has not looked yet.
    private func needsPair(after measurement: Measurement, elapsed: Duration) -> Bool {
        var watch = ComparisonWatch(threshold: 0.03, limit: .seconds(60))
        return watch.needsPair(after: measurement, elapsed: elapsed)
    }

    @Test("A pair that would end within the limit begins; one that would end after it does not")
    func limit() {
        // 20 pairs in 57 s: the next one takes 2.85 s.
        #expect(needsPair(after: measurement(pairs: 20), elapsed: .seconds(57)))
        #expect(!needsPair(after: measurement(pairs: 20), elapsed: .milliseconds(57_200)))
    }

    @Test("Seven pairs are made whatever they take: fewer prove nothing")
    func fewest() {
        #expect(needsPair(after: measurement(pairs: 6), elapsed: .seconds(600)))
        #expect(!needsPair(after: measurement(pairs: 7), elapsed: .seconds(600)))
    }

    @Test("A comparison of which no pair counts ends after twice the pairs of the first look")
    func nothingCounts() {
        #expect(needsPair(after: measurement(pairs: 23, isCounted: false), elapsed: .seconds(1)))
        #expect(!needsPair(after: measurement(pairs: 24, isCounted: false), elapsed: .seconds(1)))
    }

    @Test("A clear answer ends it at a look, not before")
    func clear() {
        func equal(_ pairs: Int) -> Measurement {
            var measurement = MeasurementTests.measurement([])
            measurement.oldCommand = ["old"]
            for number in 1...pairs {
                for program in [MeasuredProgram.old, .new] {
                    measurement.runs.append(
                        MeasuredRun(program: program, number: number, wall: .zero, cpu: .milliseconds(20)))
                }
            }
            return measurement
        }
        #expect(needsPair(after: equal(11), elapsed: .seconds(1)))
        #expect(!needsPair(after: equal(12), elapsed: .seconds(1)))
    }

    @Test("An answer that is not clear says what remains possible, and what would decide it")
    func undecided() {
        func text(deviation: Double) -> String {
            var generator = SeededGenerator(seed: 1)
            let pairs = (0..<40).map { _ -> (old: Double, new: Double) in
                (old: 1000, new: 1020 * exp(deviation * generator.normal()))
            }
            let time = ComparisonTime(elapsed: .seconds(60), limit: .seconds(60))
            let check = MeasurementCheck.against(PairedRatio(pairs), threshold: 0.03, sequence: time)
            #expect(check.outcome == .unclear, "\(check.text)")
            return check.text
        }
        #expect(text(deviation: 0.5).hasSuffix("to tell 3 %, use a quieter machine"))
        let close = text(deviation: 0.08)
        #expect(close.contains("it may be slower by up to "), "\(close)")
        #expect(close.contains("pairs are needed: use --within "), "\(close)")
    }
}
