// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@Suite("Numbers")
struct NumbersTests {
    @Test("A number with a noun is singular for one alone")
    func counted() {
        #expect([0, 1, 2].map { $0.counted("file") } == ["0 files", "1 file", "2 files"])
        #expect([1, 2].map { $0.counted("process", "processes") } == ["1 process", "2 processes"])
    }

    @Test(
        "Sums saturate at the ends of their range",
        arguments: [
            (1, 2, 3), (.max, 1, .max), (.max, 0, .max), (.min, -1, .min), (.max, .min, -1), (1, .max, .max),
        ] as [(Int64, Int64, Int64)])
    func saturatedSums(left: Int64, right: Int64, sum: Int64) {
        #expect(left.addingSaturated(right) == sum)
    }

    @Test("Wall times at the ends of their range can be compared and subtracted")
    func extremeTimes() {
        let first = WallTime(seconds: .min)
        let last = WallTime(seconds: .max, nanoseconds: 999_999_999, utcOffset: .max)
        #expect(last.since(first) > .seconds(Int64.max))
        #expect(first.since(last) < .seconds(Int64.min))
        #expect(WallTime.isNewer((last, ""), (first, "")))
        #expect(last.text(fractionDigits: 2).hasPrefix("9999-12-31"))
    }

    @Test(
        "A measured duration to read has about three digits",
        arguments: [
            (-1, "0 µs"), (52_999, "52 µs"), (1_234_000, "1.23 ms"), (52_400_000, "52 ms"), (2_345_678_000, "2.35 s"),
            (20_000_000_000, "20.00 s"), (125_000_000_000, "2 min 5 s"), (273_600_000_000_000, "3 d 4 h"),
        ] as [(Int64, String)])
    func brief(nanoseconds: Int64, text: String) {
        #expect(Duration.nanoseconds(nanoseconds).brief == text)
    }

    @Test(
        "A duration in a column has the same number of digits at every size",
        arguments: [
            (-1, "0 µs", "0 µs"), (999_499, "999 µs", "999 µs"), (999_500, "1.00 ms", "1.000 ms"),
            (9_995_000, "10.0 ms", "9.995 ms"), (38_610_000, "38.6 ms", "38.61 ms"),
            (999_499_000, "999 ms", "999.5 ms"),
            (999_960_000, "1.00 s", "1.000 s"), (12_345_000_000, "12.3 s", "12.35 s"),
            (999_600_000_000, "16 min 39 s", "999.6 s"), (.max, "106751 d 23 h", "106751 d 23 h"),
        ] as [(Int64, String, String)])
    func figures(nanoseconds: Int64, three: String, four: String) {
        #expect(Duration.nanoseconds(nanoseconds).figure() == three)
        #expect(Duration.nanoseconds(nanoseconds).figure(digits: 4) == four)
    }

    @Test("Milliseconds have no unit; digits are those of the value")
    func milliseconds() {
        #expect(Duration.microseconds(754_049).milliseconds(fractionDigits: 1) == "754.0")
        #expect(Duration.microseconds(-50).milliseconds(fractionDigits: 1) == "-0.1")
        #expect(Duration.microseconds(1_993_252).rounded(digits: 3) == .milliseconds(1_990))
        #expect(Duration.microseconds(999_600).rounded(digits: 3) == .seconds(1))
        #expect(Duration.seconds(93_784).rounded(digits: 3) == .seconds(93_784))
    }
}
