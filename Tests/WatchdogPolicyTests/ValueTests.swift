// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogPolicy

@Suite("Instants")
struct InstantTests {
    @Test("move by durations and differ by them")
    func arithmetic() {
        let instant = Instant(nanoseconds: 5)
        #expect(instant + .seconds(1) == Instant(nanoseconds: 1_000_000_005))
        #expect(instant - .nanoseconds(7) == Instant(nanoseconds: -2))
        #expect((instant + .milliseconds(3)) - instant == .milliseconds(3))
        #expect(instant - (instant + .milliseconds(3)) == .milliseconds(-3))
        #expect(instant < instant + .nanoseconds(1))
    }

    @Test("stay at the ends of their line instead of wrapping around")
    func saturation() {
        let first = Instant(nanoseconds: .min)
        let last = Instant(nanoseconds: .max)
        #expect(last + .nanoseconds(1) == last)
        #expect(last + .seconds(Int64.max) == last)
        #expect(first - .nanoseconds(1) == first)
        #expect(first + .seconds(Int64.min) == first)
        #expect(Instant(nanoseconds: 0) + .seconds(Int64.max) == last)
        #expect(Instant(nanoseconds: -1) - .seconds(Int64.max) == first)
        #expect(last - first > .nanoseconds(Int64.max))
        #expect(first - last < .nanoseconds(Int64.min))
    }

    @Test(
        "count whole nanoseconds, towards zero",
        arguments: [
            (Duration.seconds(1), 1_000_000_000), (.seconds(-1), -1_000_000_000),
            (.nanoseconds(Int64.max), Int64.max), (.nanoseconds(Int64.min), .min), (.seconds(Int64.max), .max),
            (.seconds(Int64.min), .min), (.nanoseconds(Int64.max) + .nanoseconds(1), .max),
            (.nanoseconds(Int64.min) - .nanoseconds(1), .min),
            (Duration(secondsComponent: 0, attosecondsComponent: 1_999_999_999), 1),
            (Duration(secondsComponent: 0, attosecondsComponent: -1_999_999_999), -1),
        ] as [(Duration, Int64)])
    func nanoseconds(duration: Duration, count: Int64) {
        #expect(duration.nanoseconds == count)
    }
}

@Suite("App specs")
struct AppSpecTests {
    @Test("carry the defaults of iOS")
    func defaults() {
        let spec = AppSpec(name: "App")
        #expect(spec.allowances == Allowances(launch: .seconds(20), update: .seconds(10), terminate: .seconds(5)))
        #expect(spec.enforcement == .kill)
        #expect(spec.hangThreshold == .milliseconds(250))
        #expect(spec.readiness == .automatic)
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

    @Test("never scale to less than a millisecond or more than the clock holds")
    func bounds() {
        let tiny = AppSpec(name: "App").scaled(by: 1e-12)
        #expect(tiny.allowances.launch == .milliseconds(1))
        #expect(tiny.pingInterval == .milliseconds(1))
        let huge = AppSpec(name: "App").scaled(by: 1e300)
        #expect(huge.allowances.launch == .nanoseconds(Int64.max))
    }

    @Test("an app whose allowances are scaled to the least still lives and dies by them")
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

@Suite("Exit statuses")
struct ExitStatusTests {
    @Test("are numbered like a shell numbers them")
    func shellCode() {
        #expect(ExitStatus.exited(code: 7).shellCode == 7)
        #expect(ExitStatus.signaled(signal: 9, coreDumped: false).shellCode == 137)
        #expect(ExitStatus.unknown.shellCode == 255)
    }
}

@Suite("Shared values")
struct SharedTests {
    @Test("the same value is kept once, another stays what it is, and a change is nobody else's")
    func sharing() {
        let first = Shared(wrappedValue: RestartSettings())
        var same = Shared(wrappedValue: RestartSettings())
        #expect(!same.isSameCopy(as: first))
        same.share(with: first)
        #expect(same.isSameCopy(as: first))
        same.wrappedValue.factor = 3
        #expect(first.wrappedValue.factor == 2)
        var other = same
        other.share(with: first)
        #expect(other.wrappedValue.factor == 3 && other.isSameCopy(as: same))
    }
}
