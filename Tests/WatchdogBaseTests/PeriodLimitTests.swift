// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@Suite("Limits of a period")
struct PeriodLimitTests {
    private let start = Instant(nanoseconds: 1_000)

    @Test("Five in five minutes: the sixth waits until the first is five minutes old, to the nanosecond")
    func admitted() {
        var limit = PeriodLimit(5, in: .seconds(300))
        #expect(limit.isIdle(at: start))
        let offsets: [Duration] =
            (0..<6).map { .seconds($0) }
            + [.seconds(300) - .nanoseconds(1), .seconds(300), .seconds(300), .seconds(301)]
        let admissions = offsets.map { limit.admit(at: start + $0) }
        #expect(admissions == [true, true, true, true, true, false, false, true, false, true])
        #expect(!limit.isIdle(at: start + .seconds(600)))
        #expect(limit.isIdle(at: start + .seconds(601)))
    }

    @Test("What is recorded above the limit counts, and the latest events are those that do")
    func recorded() {
        var limit = PeriodLimit(2, in: .seconds(10))
        for second in 0..<5 { limit.record(at: start + .seconds(second)) }
        #expect(limit.isReached(at: start + .seconds(12)))
        #expect(!limit.isReached(at: start + .seconds(13)))
        // A clock that has been set back: events in the future count.
        #expect(limit.isReached(at: Instant(nanoseconds: .min)))
        var least = PeriodLimit(.min, in: .zero)
        #expect(least.admit(at: start) && least.admit(at: start))
    }
}
