// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogBase

@Suite("Latency histogram")
struct LatencyHistogramTests {
    private static let fractions = [0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1]

    /// The value that at least `fraction` of the sorted values do not exceed.
    private func truth(_ sorted: [Duration], _ fraction: Double) -> Duration {
        sorted[min(sorted.count, max(1, Int((Double(sorted.count) * fraction).rounded(.up)))) - 1]
    }

    @Test("quantiles exceed the truth by at most a sixteenth or a microsecond", arguments: 0..<8)
    func quantiles(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var histogram = LatencyHistogram()
        var values: [Duration] = []
        for _ in 0..<2_000 {
            let value = Duration.nanoseconds(Int64(generator.next() >> 1) >> Int64(generator.below(60)))
            values.append(value)
            histogram.record(value)
        }
        values.sort()
        for fraction in Self.fractions {
            let exact = truth(values, fraction)
            let found = histogram.quantile(fraction) ?? .zero
            #expect(found >= exact, "seed \(seed), \(fraction)")
            #expect(found <= exact + max(exact / 16, .microseconds(1)), "seed \(seed), \(fraction)")
        }
        #expect(histogram.quantile(1) == values.last)
        #expect(histogram.maximum == values.last)
        #expect(histogram.count == values.count)
    }

    @Test(
        "each single value is found again within the bound", arguments: [0, 1, 15, 16, 17, 31, 32, 33, 1_000, 1 << 40])
    func singleValues(microseconds: Int64) {
        var histogram = LatencyHistogram()
        let value = Duration.microseconds(microseconds)
        histogram.record(value)
        histogram.record(.seconds(9_000_000_000))
        let found = histogram.quantile(0.5) ?? .zero
        #expect(found > value)
        #expect(found <= value + max(value / 16, .microseconds(1)))
    }

    @Test("the maximum is exact and bounds every quantile")
    func maximum() {
        var histogram = LatencyHistogram()
        histogram.record(.nanoseconds(1_234_567))
        for fraction in Self.fractions { #expect(histogram.quantile(fraction) == .nanoseconds(1_234_567)) }
    }

    @Test("buckets follow each other without a gap, as wide as their number of bits allows", arguments: [0, 4, 5, 16])
    func buckets(bits: Int) {
        let scale = GrowingBuckets(bits: bits)
        for bucket in 0..<(1 << bits) * 8 {
            let (start, end) = (scale.start(of: bucket), scale.start(of: bucket + 1))
            guard start < end, scale.bucket(of: start) == bucket, scale.bucket(of: end - 1) == bucket,
                (end - start) << UInt64(bits) <= max(start, 1 << UInt64(bits))
            else {
                Issue.record("bucket \(bucket): \(start)..<\(end)")
                return
            }
        }
    }

    @Test("nothing recorded has no quantile")
    func empty() {
        #expect(LatencyHistogram().quantile(0.5) == nil)
    }

    @Test("a negative duration counts as zero")
    func negative() {
        var histogram = LatencyHistogram()
        histogram.record(.seconds(-5))
        #expect(histogram.count == 1)
        #expect(histogram.maximum == .zero)
        #expect(histogram.quantile(1) == .zero)
    }

    @Test("durations of centuries do no harm")
    func huge() {
        var histogram = LatencyHistogram()
        histogram.record(.seconds(Int64.max))
        histogram.record(.nanoseconds(Int64.max))
        #expect(histogram.maximum == .seconds(Int64.max))
        #expect(histogram.quantile(0.5).map { $0 >= .nanoseconds(Int64.max) } ?? false)
    }

    @Test("a fraction outside of its range counts as the nearer end")
    func fractions() {
        var histogram = LatencyHistogram()
        for milliseconds in 1...10 { histogram.record(.milliseconds(milliseconds)) }
        #expect(histogram.quantile(-1) == histogram.quantile(0))
        #expect(histogram.quantile(.nan) == histogram.quantile(0))
        #expect(histogram.quantile(-.infinity) == histogram.quantile(0))
        #expect(histogram.quantile(1e300) == histogram.quantile(1))
        #expect(histogram.quantile(.infinity) == .milliseconds(10))
    }
}
