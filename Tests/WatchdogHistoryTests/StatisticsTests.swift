// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogHistory

@Suite("Statistics of launches")
struct StatisticsTests {
    @Test("Quantiles are accurate to 1/64, from microseconds to hours")
    func quantiles() throws {
        var random = SeededGenerator(seed: 1)
        for scale in [50.0, 12_000, 3e6, 4e9] {
            var buckets = DurationBuckets()
            var values: [Double] = []
            for _ in 0..<2_001 {
                let value = (scale * exp(random.normal() / 2)).rounded()
                values.append(value)
                buckets.add(.microseconds(Int64(value)))
            }
            values.sort()
            for (fraction, index) in [(0.5, 1_000), (0.9, 1_800), (0.99, 1_980)] {
                let found = Double(try #require(buckets.quantile(fraction)).wholeMicroseconds)
                #expect(abs(found - values[index]) <= max(1, values[index] / 60))
            }
        }
        #expect(DurationBuckets().quantile(0.5) == nil)
    }

    @Test("Buckets survive encoding and addition; damaged bytes are rejected or harmless")
    func bytes() throws {
        var random = SeededGenerator(seed: 2)
        var left = DurationBuckets()
        var right = DurationBuckets()
        for _ in 0..<500 {
            left.add(.microseconds(Int64.random(in: 0...1 << 40, using: &random)))
            right.add(.nanoseconds(Int64.random(in: -5...5_000_000, using: &random)))
        }
        #expect(DurationBuckets(bytes: left.bytes) == left)
        var sum = left
        sum.add(right)
        #expect(sum.count == 1_000)
        #expect(sum.ranges.map(\.count).reduce(0, +) == 1_000)
        #expect(DurationBuckets(bytes: [0xFF] as [UInt8])?.count ?? 0 == 0)
        #expect(DurationBuckets(bytes: [0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 1] as [UInt8]) == nil)
        for _ in 0..<2_000 {
            let noise = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            if let buckets = DurationBuckets(bytes: noise) { #expect(buckets.count >= 0) }
        }
    }

    @Test("The sum of rows is the sum of their buckets, for few rows and for many", arguments: [0, 1, 32, 33, 200])
    func sums(rows: Int) {
        var random = SeededGenerator(seed: 3)
        var sums = DurationSums()
        var expected = DurationBuckets()
        for _ in 0..<rows {
            var row = DurationBuckets()
            for _ in 0..<20 { row.add(.microseconds(Int64.random(in: 0...1 << 48, using: &random))) }
            row.bytes.withUnsafeBytes { sums.add(bytes: $0) }
            expected.add(row)
        }
        #expect(sums.buckets == expected)
        sums.add(.milliseconds(3))
        expected.add(.milliseconds(3))
        #expect(sums.buckets == expected)
    }

    @Test("The rank test matches the textbook: 5 against 5 without overlap has p = 1/252")
    func ranks() throws {
        let test = try #require(RankTest([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]))
        #expect(abs(test.p - 1.0 / 252) < 1e-12)
        #expect(test.ratio == 8.0 / 3)
        #expect(abs(try #require(RankTest([6, 7, 8, 9, 10], [1, 2, 3, 4, 5])).p - 1) < 1e-12)
        // Exact and approximate agree where both are used.
        let values = (0..<17).map { Double($0 * 2) }
        let shifted = values.map { $0 + 9 }
        let exact = try #require(RankTest(Array(values.prefix(16)), Array(shifted.prefix(16))))
        let approximate = try #require(RankTest(values, shifted))
        #expect(abs(exact.p - approximate.p) < 0.03)
        #expect(RankTest([], [1]) == nil)
    }

    // MARK: - The rule

    /// Launches of a version: `moments` moments a day apart, each with its own noise and `count` launches.
    private func samples(
        _ moments: Int, from day: Int, count: Int = 3, factor: Double, _ random: inout SeededGenerator,
        momentNoise: Double = 0.12, noise: Double = 0.12, hasCPUTime: Bool = true
    ) -> [RegressionRule.Sample] {
        (0..<moments).flatMap { moment in
            let common = exp(random.normal() * momentNoise)
            return (0..<count).map { index in
                let value = 20_000 * factor * common * exp(random.normal() * noise)
                return RegressionRule.Sample(
                    time: Int64(day + moment) * WallTime.dayLength + Int64(index) * 1_000_000,
                    duration: .microseconds(Int64(value * 3)),
                    cpuTime: hasCPUTime ? .microseconds(Int64(value)) : nil)
            }
        }
    }

    private func alarms(
        _ factor: Double, runs: Int, seed: UInt64, hasCPUTime: Bool = true, momentNoise: Double = 0.12
    ) -> Double {
        var random = SeededGenerator(seed: seed)
        var alarms = 0
        for _ in 0..<runs {
            let former = samples(
                32, from: 0, factor: 1, &random, momentNoise: momentNoise, hasCPUTime: hasCPUTime)
            let latest = samples(
                33, from: 40, factor: factor, &random, momentNoise: momentNoise, hasCPUTime: hasCPUTime)
            // Every evaluation of a version.
            let isFound = [9, 17, 33].contains { moments in
                RegressionRule.judge(former: former, latest: Array(latest.prefix(moments * 3))) != nil
            }
            if isFound { alarms += 1 }
        }
        return Double(alarms) / Double(runs)
    }

    @Test("The same version twice: at most 0.5 % false alarms over all evaluations, however noisy the moments are")
    func falseAlarms() {
        let runs = StormScale.part(of: 2_000)
        let quiet = alarms(1, runs: runs, seed: 3)
        let loud = alarms(1, runs: runs, seed: 4, momentNoise: 0.5)
        let wall = alarms(1, runs: runs, seed: 5, hasCPUTime: false, momentNoise: 0.5)
        print("false alarms: \(quiet), moments of sigma 0.5 \(loud), duration \(wall)")
        #expect(quiet <= 0.005)
        #expect(loud <= 0.005)
        #expect(wall <= 0.005)
    }

    @Test("A version that needs 20 % more CPU time is detected nine times in ten")
    func detection() {
        let found = [1.1, 1.15, 1.2, 1.3].map { alarms($0, runs: 500, seed: 6) }
        print("found at +10, +15, +20, +30 %: \(found)")
        #expect(found[2] >= 0.9)
        #expect(found[3] >= 0.95)
    }

    @Test("The required number of moments acts, one fewer does not; the moment in progress does not count")
    func moments() {
        var random = SeededGenerator(seed: 7)
        let former = samples(8, from: 0, factor: 1, &random, momentNoise: 0.01, noise: 0.01)
        let latest = samples(9, from: 20, factor: 2, &random, momentNoise: 0.01, noise: 0.01)
        #expect(RegressionRule.judge(former: former, latest: latest) != nil)
        #expect(RegressionRule.judge(former: former, latest: Array(latest.prefix(8 * 3))) == nil)
        #expect(RegressionRule.judge(former: Array(former.dropFirst(3)), latest: latest) == nil)
    }

    @Test("Many launches at one moment are one moment")
    func oneMoment() {
        var random = SeededGenerator(seed: 8)
        let former = samples(8, from: 0, factor: 1, &random)
        let latest = samples(1, from: 20, count: 1_000, factor: 2, &random)
        #expect(RegressionRule.judge(former: former, latest: latest) == nil)
    }

    @Test("A shift just above the smallest is reported; one just below is not")
    func shift() {
        func judge(_ factor: Double) -> RegressionRule.Finding? {
            let make = { (day: Int, moments: Int, factor: Double) in
                (0..<moments).map { moment in
                    RegressionRule.Sample(
                        time: Int64(day + moment) * WallTime.dayLength, duration: .zero,
                        cpuTime: .nanoseconds(Int64(1e9 * factor) + Int64(moment) * 1_000))
                }
            }
            return RegressionRule.judge(former: make(0, 8, 1), latest: make(20, 9, factor))
        }
        #expect(judge(1.101)?.measure == .cpuTime)
        #expect(judge(1.099) == nil)
    }

    /// Eight moments at a second each, then eight at one and a half, of which one is faster than `wins` of the earlier
    /// ones.
    private func judge(wins: Int, hasCPUTime: Bool) -> RegressionRule.Finding? {
        func sample(_ day: Int, _ milliseconds: Double) -> RegressionRule.Sample {
            let value = Duration.microseconds(Int64(milliseconds * 1_000))
            return RegressionRule.Sample(
                time: Int64(day) * WallTime.dayLength, duration: value, cpuTime: hasCPUTime ? value : nil)
        }
        let former = (0..<8).map { sample($0, 1_000 + Double($0)) }
        let quick = sample(20, 1_000 + Double(8 - wins) - 0.5)
        return RegressionRule.judge(former: former, latest: [quick] + (21..<29).map { sample($0, 1_500) })
    }

    /// Of the 12,870 orders of eight and eight moments, 12 are as clear as four exchanges, 19 as five, 4 as two, 7 as
    /// three.
    @Test("A shift just beyond the noise is reported; one rank less is not")
    func noise() {
        #expect(judge(wins: 4, hasCPUTime: true)?.p == 12.0 / 12_870)
        #expect(judge(wins: 5, hasCPUTime: true) == nil)
        #expect(judge(wins: 2, hasCPUTime: false)?.p == 4.0 / 12_870)
        #expect(judge(wins: 3, hasCPUTime: false) == nil)
    }

    @Test("The time until ready needs a larger shift than the CPU time, and counts if any launch has no CPU time")
    func durationShift() {
        func judge(_ factor: Double) -> RegressionRule.Finding? {
            let make = { (day: Int, moments: Int, factor: Double) in
                (0..<moments).map { moment in
                    RegressionRule.Sample(
                        time: Int64(day + moment) * WallTime.dayLength,
                        duration: .nanoseconds(Int64(1e9 * factor) + Int64(moment) * 1_000),
                        cpuTime: moment == 0 ? nil : .seconds(1))
                }
            }
            return RegressionRule.judge(former: make(0, 8, 1), latest: make(20, 9, factor))
        }
        #expect(judge(1.251)?.measure == .duration)
        #expect(judge(1.249) == nil)
    }
}
