// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@Suite("Numbers")
struct NumbersTests {
    @Test(
        "Sums stay at the ends of their range",
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
}
