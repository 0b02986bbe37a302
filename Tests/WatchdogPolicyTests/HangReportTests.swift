// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogPolicy

@Suite("Reports of hangs that end by themselves")
struct HangReportTests {
    private let start = Instant(nanoseconds: 0)
    private let spec = AppSpec.app { $0.hangReportThreshold = .seconds(1) }

    private func hang(_ duration: Duration) -> Hang {
        Hang(event: .sceneUpdate, startedAt: start, duration: duration, allowance: .seconds(10))
    }

    @Test("come at the threshold and not a nanosecond below")
    func threshold() {
        var limit = HangReportLimit()
        #expect(limit.admit(hang(.seconds(1) - .nanosecond), of: spec, at: start) == false)
        #expect(limit.admit(hang(.seconds(1)), of: spec, at: start) == true)
    }

    @Test("do not come without a threshold")
    func off() {
        var limit = HangReportLimit()
        #expect(limit.admit(hang(.minutes(5)), of: .app { _ in }, at: start) == false)
    }

    @Test("are at most five in five minutes")
    func limit() {
        var limit = HangReportLimit()
        let instants: [Duration] =
            (0..<6).map { .seconds($0) } + [.seconds(300) - .nanosecond, .seconds(300), .seconds(301) - .nanosecond]
        let admissions = instants.map { limit.admit(hang(.seconds(1)), of: spec, at: start + $0) }
        #expect(admissions == [true, true, true, true, true, false, false, true, false])
    }

    @Test("that do not come are not counted")
    func uncounted() {
        var limit = HangReportLimit()
        for _ in 0..<9 { #expect(limit.admit(hang(.milliseconds(300)), of: spec, at: start) == false) }
        for _ in 0..<5 { #expect(limit.admit(hang(.seconds(1)), of: spec, at: start) == true) }
    }
}
