// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing
import WatchdogBase
import WatchdogRendering
import WatchdogReport

@testable import WatchdogLaunch

@Suite("The limit on reports with one signature")
struct RepeatLimitTests {
    private let start = Instant(nanoseconds: 1_000)
    private let signature = Signature(of: Samples.report())
    private let other = Signature(of: Samples.goldens[1].report)

    /// A limit that one fault reaches at `start`.
    private func reached() -> RepeatLimit {
        var limit = RepeatLimit()
        for number in 1...RepeatLimit.count {
            #expect(limit.report(counting: signature, at: start) == nil)
            limit.wrote("/\(number)", signature, at: start)
        }
        return limit
    }

    @Test(
        "the first five incidents of a fault get reports; the newest report counts the later ones of the same fault")
    func count() {
        var limit = reached()
        #expect(limit.report(counting: signature, at: start) == "/5")
        #expect(limit.report(counting: other, at: start) == nil)
    }

    @Test("after a day, reports are written again, and not a nanosecond earlier")
    func period() {
        var limit = reached()
        #expect(limit.report(counting: signature, at: start + RepeatLimit.period - .nanoseconds(1)) == "/5")
        #expect(limit.report(counting: signature, at: start + RepeatLimit.period) == nil)
        limit.wrote("/6", signature, at: start + RepeatLimit.period)
        #expect(limit.report(counting: signature, at: start + RepeatLimit.period) == nil)
    }

    @Test("a limited number of faults is remembered, the most recent ones")
    func memory() {
        func signature(_ number: Int) -> Signature {
            var report = Samples.report()
            report.metadata.appName = "app\(number)"
            return Signature(of: report)
        }
        var limit = reached()
        for number in 1..<RepeatLimit.faults {
            for _ in 1...RepeatLimit.count { limit.wrote("/x", signature(number), at: start + .seconds(number)) }
        }
        // The first fault occurs again, so the second one is the oldest.
        #expect(limit.report(counting: self.signature, at: start + .seconds(1_000)) == "/5")
        limit.wrote("/y", other, at: start + .seconds(1_001))
        #expect(limit.report(counting: signature(1), at: start + .seconds(1_002)) == nil)
        #expect(limit.report(counting: signature(2), at: start + .seconds(1_002)) == "/x")
        #expect(limit.report(counting: self.signature, at: start + .seconds(1_002)) == "/5")
    }
}
