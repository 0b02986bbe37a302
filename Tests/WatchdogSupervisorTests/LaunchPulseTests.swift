// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

@testable import WatchdogDaemon
@testable import WatchdogLaunch
@testable import WatchdogRun

@Suite("Unsaved signs of life")
struct LaunchPulseTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)
    private static let allowance = Duration.seconds(10)

    private func pulse(after elapsed: Duration = .zero, lastPing: Instant? = nil) -> LaunchPulse {
        var pulse = LaunchPulse()
        pulse.machine = ProcessMachine.Pulse(
            nonceState: 1, unanswered: [], lastPingSent: lastPing, nextPing: nil, startedAt: Self.start + elapsed,
            allowance: Self.allowance)
        pulse.thread = 7
        pulse.isApproximate = true
        return pulse
    }

    @Test("a sign of life within half the allowance after the saved one is not saved; a later one is")
    func slack() {
        let half = Self.allowance / 2
        #expect(pulse(after: half - .nanoseconds(1)).says(noMoreThan: pulse()))
        #expect(!pulse(after: half).says(noMoreThan: pulse()))
    }

    @Test("counts alone are not saved; every other change is")
    func rest() {
        var later = pulse(after: .seconds(1))
        later.signsOfLife = 9
        later.lastSignOfLife = Self.start
        #expect(later.says(noMoreThan: pulse()))
        for change: (inout LaunchPulse) -> Void in [
            { $0.thread = 8 }, { $0.window = .init(at: Self.start, processCPUTime: .zero) }, { $0.machine = nil },
            { $0.machine?.allowance = .seconds(11) }, { $0.machine?.nonceState = 2 }, { $0.machine?.unanswered = [3] },
            { $0.machine?.startedAt = nil }, { $0.machine?.nextPing = Self.start },
        ] {
            var changed = later
            change(&changed)
            #expect(!changed.says(noMoreThan: pulse()))
        }
        #expect(!pulse(after: .seconds(1), lastPing: Self.start).says(noMoreThan: pulse(lastPing: Self.start)))
    }

    @Test("the next watchdogd extends an app's time by what may not have been saved, and by nothing if all was")
    func late() {
        let start = Self.start
        #expect(pulse().asLate(by: start + .seconds(60)).machine?.startedAt == start + .seconds(5))
        #expect(pulse().asLate(by: start + .seconds(2)).machine?.startedAt == start + .seconds(2))
        #expect(pulse().asLate(by: start - .seconds(2)).machine?.startedAt == start)
        var exact = pulse()
        exact.isApproximate = false
        #expect(exact.asLate(by: start + .seconds(60)) == exact)
        let pinged = pulse(lastPing: start)
        #expect(pinged.asLate(by: start + .seconds(60)) == pinged)
    }

    @Test("the pulse is saved with its approximate flag", arguments: [true, false])
    func bytes(isApproximate: Bool) {
        var saved = pulse()
        saved.isApproximate = isApproximate
        #expect(LaunchPulse(saved.bytes) == saved)
    }
}
