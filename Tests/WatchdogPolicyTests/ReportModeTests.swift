// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogPolicy

@Suite("Enforcement: report only")
struct ReportModeTests {
    @Test("does everything but kill", arguments: DeadlineCase.all)
    func everythingButKill(_ deadline: DeadlineCase) throws {
        var life = deadline.reportedLife
        life.run(to: .minutes(10))
        let report = try #require(life.reports.first)
        #expect(life.reports.count == 1)
        #expect(life.decisionTimes == [deadline.deadline])
        #expect(!report.isEnforced)
        #expect(report.isDeathVerified == nil)
        #expect(!life.effects.contains(.killTree))
        #expect(life.machine.isInIncident)
        #expect(life.nextDeadline == nil)
    }

    @Test("an app that recovers late is pinged again, and its hang has its true length")
    func recovery() {
        var life = Timeline.pinging(.reporting)
        life.at(.seconds(17), .ponged(nonce: life.nonces[0]))
        #expect(life.machine.hangs.maximum == .seconds(17))
        #expect(life.notices.last == .hung(for: .seconds(17)))
        #expect(!life.machine.isInIncident)
        life.run(to: .minutes(1))
        #expect(life.pingTimes == [.zero, .seconds(17)])
        #expect(life.decisionTimes == [.seconds(10), .seconds(27)])
        #expect(life.reports.map(\.id) == [1, 2])
    }

    @Test("an app that pushes again is watched again, and its hang has its true length")
    func pushRecovery() {
        var life = Timeline.pushing(.reporting)
        life.at(.seconds(17), .watchdogPinged)
        #expect(life.notices.last == .hung(for: .seconds(17)))
        life.run(to: .minutes(1))
        #expect(life.decisionTimes == [.seconds(10), .seconds(27)])
    }

    @Test(
        "a hang also ends when pushes are turned off", arguments: [ProcessEvent.hello, .watchdogIntervalChanged(.zero)])
    func pushesEnd(_ event: ProcessEvent) {
        var life = Timeline.pushing(.reporting)
        life.at(.seconds(17), event)
        #expect(life.notices.contains(.hung(for: .seconds(17))))
        #expect(!life.machine.isInIncident)
    }

    @Test("an app that recovers during the capture is measured at that instant")
    func recoveryDuringCapture() {
        var life = Timeline.pinging(.reporting)
        life.captureTime = .milliseconds(1_500)
        life.at(.milliseconds(10_100), .ponged(nonce: life.nonces[0]))
        #expect(life.machine.hangs.maximum == .milliseconds(10_100))
        life.run(to: .milliseconds(11_500))
        #expect(life.pingTimes == [.zero, .milliseconds(11_500)])
        #expect(life.reports.count == 1)
        #expect(!life.machine.isInIncident)
        life.run(to: .milliseconds(21_499))
        #expect(life.incidents.count == 1)
    }

    @Test("a flood of messages during the capture hides nothing that matters")
    func flood() {
        var life = Timeline.pinging(.reporting)
        life.captureTime = nil
        life.run(to: .seconds(10))
        for _ in 0..<1_000 { life.tell(.notified, .ponged(nonce: 1)) }
        life.tell(.ponged(nonce: life.nonces[0]), .terminateRequested, .terminateRequested)
        #expect(life.machine.hangs.count == 1)
        #expect(life.effects.contains(.terminate))
        life.run(to: .seconds(12))
        #expect(life.effects.suffix(2) == [.report(life.incidents[0]), .killTree])
        life.run(to: .seconds(13))
        #expect(life.outcome?.cause == .killedOnRequest)
    }

    @Test("an app that becomes ready late counts as ready")
    func lateReady() {
        var life = Timeline(.reporting)
        life.at(.seconds(1), .hello)
        life.at(.seconds(30), .ready(.channel))
        #expect(life.machine.launchDuration == .seconds(30))
        #expect(life.pingTimes == [.seconds(30)])
        #expect(life.reports.map(\.event) == [.sceneCreate])
    }

    @Test("a capture that times out yields a report without stacks")
    func captureTimesOut() {
        var life = Timeline.pinging(.reporting)
        life.captureTime = nil
        life.run(to: .seconds(12) - .nanosecond)
        #expect(life.reports == [])
        life.run(to: .seconds(12))
        #expect(life.notices.contains(.captureTimedOut))
        #expect(life.reports.count == 1)
        life.at(.seconds(13), .captured)
        #expect(life.reports.count == 1)
    }

    @Test("an app that dies during the capture is reported before its exit")
    func deathDuringCapture() {
        var life = Timeline.pinging(.reporting)
        life.captureTime = .seconds(1)
        life.at(.milliseconds(10_500), .exited(.exited(code: 1)), .ponged(nonce: life.nonces[0]))
        #expect(life.machine.pings.count == 0)
        life.run(to: .minutes(1))
        let report = life.effects.firstIndex(of: .report(life.incidents[0]))
        #expect(report.map { life.effects[$0 + 1] } == .terminateTree)
        #expect(life.reports.map(\.isEnforced) == [false])
        #expect(life.outcome == Outcome(cause: .exited, status: .exited(code: 1), isDeathVerified: true))
    }

    @Test("a termination request counts during the capture")
    func requestDuringCapture() {
        var life = Timeline.pinging(.reporting)
        life.captureTime = .seconds(1)
        life.at(.milliseconds(10_100), .terminateRequested)
        life.at(.milliseconds(10_500), .exited(.exited(code: 0)))
        life.run(to: .minutes(1))
        #expect(life.outcome?.cause == .terminated)
    }

    @Test("a second request waits for the capture; an exit before it ends is not a kill")
    func secondRequestDuringCapture() {
        func cause(exits: Bool) -> Outcome.Cause? {
            var life = Timeline.pinging(.reporting)
            life.captureTime = .seconds(1)
            life.at(.milliseconds(10_100), .terminateRequested, .terminateRequested, .terminateRequested)
            if exits { life.at(.milliseconds(10_500), .exited(.exited(code: 0))) }
            life.run(to: .seconds(11) - .nanosecond)
            #expect(!life.effects.contains(.killTree))
            life.run(to: .minutes(1))
            return life.outcome?.cause
        }
        #expect(cause(exits: true) == .terminated)
        #expect(cause(exits: false) == .killedOnRequest)
    }

    @Test("an app that does not exit in time is reported once and killed by the second request")
    func unwillingToEnd() {
        var life = Timeline.pinging(.reporting)
        life.at(.seconds(1), .terminateRequested)
        life.run(to: .minutes(1))
        #expect(life.reports.map(\.event) == [.processExit])
        life.tell(.terminateRequested)
        life.run(to: .minutes(2))
        #expect(life.outcome?.cause == .killedOnRequest)
    }

    @Test("the history keeps the latest sixty-four incidents in order")
    func history() {
        var life = Timeline.pinging(.reporting)
        for _ in 0..<70 {
            life.run(to: life.elapsed + .seconds(11))
            life.tell(.ponged(nonce: life.nonces.last ?? 0))
            life.run(to: life.elapsed)
        }
        #expect(life.machine.incidents.map(\.id) == Array(7...70))
    }
}
