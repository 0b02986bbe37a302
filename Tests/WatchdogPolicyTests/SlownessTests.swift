// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogPolicy

@Suite("An app that has used up half of an allowance is reported")
struct SlownessTests {
    private static func spec(update: Duration = .seconds(10), _ delay: Duration? = .seconds(1)) -> AppSpec {
        var spec = AppSpec(name: "App", allowances: Allowances(update: update))
        spec.observationDelay = delay
        return spec
    }

    private static func reported(_ life: Timeline) -> [Slowness] {
        life.notices.compactMap { if case .slow(let slowness) = $0 { slowness } else { nil } }
    }

    @Test("an answer just before half of the allowance comes in time")
    func justUnder() {
        var life = Timeline.pinging(Self.spec())
        life.at(.seconds(5) - .nanoseconds(1), .ponged(nonce: life.nonces[0]))
        #expect(Self.reported(life).isEmpty)
    }

    @Test("no answer for half of the allowance is reported once")
    func justOver() {
        var life = Timeline.pinging(Self.spec())
        life.run(to: .seconds(5))
        life.run(to: .seconds(9))
        let slow = Self.reported(life)
        #expect(slow.map(\.duty) == [.answer])
        #expect(slow.map(\.event) == [.sceneUpdate])
        #expect(slow.map(\.duration) == [.seconds(5)])
        #expect(slow.map(\.remaining) == [.seconds(5)])
        life.at(.seconds(9), .ponged(nonce: life.nonces[0]))
        #expect(life.incidents.isEmpty)
    }

    @Test("the next unanswered ping is reported again")
    func again() {
        var life = Timeline.pinging(Self.spec())
        life.at(.seconds(6), .ponged(nonce: life.nonces[0]))
        life.run(to: .seconds(6) + .milliseconds(500))
        #expect(life.nonces.count == 2)
        life.run(to: .seconds(12))
        #expect(Self.reported(life).count == 2)
    }

    @Test("half of an allowance of less than two seconds is not reported", arguments: [1_999, 2_000])
    func short(milliseconds: Int) {
        var life = Timeline.pinging(Self.spec(update: .milliseconds(milliseconds)))
        life.run(to: .milliseconds(milliseconds))
        #expect(Self.reported(life).isEmpty == (milliseconds < 2_000))
        #expect(life.incidents.count == 1)
    }

    @Test("an app that is not observed is not reported")
    func unobserved() {
        var life = Timeline.pinging(Self.spec(nil))
        life.run(to: .seconds(9))
        #expect(Self.reported(life).isEmpty)
    }

    @Test("a launch is reported, unless the app may be assumed ready", arguments: [Readiness.notify, .automatic])
    func launch(readiness: Readiness) {
        var spec = Self.spec()
        (spec.readiness, spec.allowances.launch) = (readiness, .seconds(20))
        var life = Timeline(spec)
        life.run(to: .seconds(19))
        #expect(Self.reported(life).map(\.duty) == (readiness == .notify ? [.becomeReady] : []))
    }

    @Test("an app that pushes is reported after three quarters of its allowance")
    func push() {
        var life = Timeline.pushing(Self.spec(), every: .seconds(8))
        life.run(to: .seconds(6) - .milliseconds(100))
        #expect(Self.reported(life).isEmpty)
        life.run(to: .seconds(6) + .milliseconds(100))
        #expect(Self.reported(life).map(\.duty) == [.push])
    }

    @Test("an app that was asked to exit and has not is reported")
    func exit() {
        var life = Timeline.pinging(Self.spec())
        life.at(.seconds(1), .terminateRequested)
        life.run(to: .seconds(1) + .seconds(4))
        #expect(Self.reported(life).map(\.duty) == [.exit(isRequested: true)])
    }

    @Test("the next watchdogd does not report it again")
    func inherited() throws {
        var life = Timeline.pinging(Self.spec())
        life.run(to: .seconds(6))
        #expect(Self.reported(life).count == 1)
        life.replace(try #require(ProcessMachine(resuming: life.machine)))
        life.at(.seconds(7), .supervisorReturned(isLastStepDone: true))
        life.run(to: .seconds(9))
        #expect(Self.reported(life).count == 1)
    }
}
