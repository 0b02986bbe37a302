// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

@Suite("App specs")
struct AppSpecTests {
    @Test("have the defaults of iOS")
    func defaults() {
        let spec = AppSpec(name: "App")
        #expect(spec.allowances == Allowances(launch: .seconds(20), update: .seconds(10), terminate: .seconds(5)))
        #expect(spec.enforcement == .kill)
        #expect(spec.hangThreshold == .milliseconds(250))
        #expect(spec.readiness == .automatic)
    }

    @Test("allow a crash log if the grace period exceeds the termination allowance plus the capture")
    func gracePeriod() {
        var spec = AppSpec(name: "App", allowances: Allowances(terminate: .seconds(8)))
        #expect(spec.leavesCrashLog(within: .nanoseconds(10_000_000_001)))
        #expect(!spec.leavesCrashLog(within: .seconds(10)))
        spec.captureBudget = .seconds(1)
        #expect(spec.leavesCrashLog(within: .seconds(10)))
        #expect(!AppSpec(name: "App").scaled(by: 1e300).leavesCrashLog(within: .seconds(30)))
    }

    @Test("scale their allowances and their ping interval, and nothing else")
    func scaled() {
        let spec = AppSpec(name: "App", readiness: .notify)
        let quick = spec.scaled(by: 0.1)
        #expect(
            quick.allowances
                == Allowances(launch: .seconds(2), update: .seconds(1), terminate: .milliseconds(500)))
        #expect(quick.pingInterval == .milliseconds(100))
        #expect(quick.lifecycle.background == .seconds(3))
        #expect(quick.lifecycle.enterBackground == .milliseconds(500))
        #expect(quick.lifecycle.taskLimit == spec.lifecycle.taskLimit)
        var restored = quick
        restored.allowances = spec.allowances
        restored.pingInterval = spec.pingInterval
        restored.lifecycle = spec.lifecycle
        #expect(restored == spec)
        #expect(spec.scaled(by: 1) == spec)
    }

    @Test(
        "are scaled to the nearest nanosecond",
        arguments: [(0.3, 3_000_000_000), (1.0 / 3, 3_333_333_333)] as [(Double, Int64)])
    func rounding(factor: Double, update: Int64) {
        #expect(AppSpec(name: "App").scaled(by: factor).allowances.update == .nanoseconds(update))
    }

    @Test("never scale below a millisecond or beyond what the clock can represent")
    func bounds() {
        let tiny = AppSpec(name: "App").scaled(by: 1e-12)
        #expect(tiny.allowances.launch == .milliseconds(1))
        #expect(tiny.pingInterval == .milliseconds(1))
        let huge = AppSpec(name: "App").scaled(by: 1e300)
        #expect(huge.allowances.launch == .nanoseconds(Int64.max))
    }

    @Test("the smallest allowances are still enforced")
    func tiny() {
        var life = Timeline.pinging(AppSpec(name: "App").scaled(by: 1e-12))
        life.pongTime = .microseconds(100)
        life.tell(.ponged(nonce: life.nonces[0]))
        life.run(to: .seconds(1))
        #expect(life.incidents == [])
        life.pongTime = nil
        life.run(to: .seconds(2))
        #expect(life.incidents.count == 1)
    }
}
