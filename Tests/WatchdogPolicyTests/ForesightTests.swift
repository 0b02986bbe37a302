// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

@Suite("The examination ahead of a deadline")
struct ForesightTests {
    private static func spec(update: Duration) -> AppSpec {
        var spec = AppSpec(name: "App", allowances: Allowances(update: update))
        spec.observationDelay = .seconds(1)
        return spec
    }

    /// How long after the last ping or push the machine wants the examination; nil if it wants none.
    private static func due(_ life: Timeline) -> Duration? {
        // A deadline that has not come changes nothing.
        var machine = life.machine
        return machine.step(.deadlineReached, at: life.now).foresightDue.map { $0 - (life.now - life.elapsed) }
    }

    @Test("comes a tenth of a second before the deadline, or when an eighth of a short allowance is left")
    func moment() {
        for (allowance, left) in [
            (Duration.seconds(10), Foresight.lead), (.milliseconds(800), .milliseconds(100)),
            (.milliseconds(799), .milliseconds(799) / 8), (.milliseconds(80), .milliseconds(10)),
        ] {
            var life = Timeline.pinging(Self.spec(update: allowance))
            life.run(to: allowance - left)
            #expect(Self.due(life) == allowance - left)
        }
    }

    @Test("is wanted only once an app has been silent for long, and not after its answer")
    func silence() {
        var life = Timeline.pinging(Self.spec(update: .seconds(10)))
        life.run(to: .seconds(1) - .nanosecond)
        #expect(Self.due(life) == nil)
        life.run(to: .seconds(1))
        #expect(Self.due(life) == .milliseconds(9_900))
        life.at(.milliseconds(9_950), .ponged(nonce: life.nonces[0]))
        #expect(Self.due(life) == nil)
    }

    @Test("is wanted of an app that pushes after three quarters of its allowance, and not after the next push")
    func pushes() {
        var life = Timeline.pushing(Self.spec(update: .seconds(4)))
        life.run(to: .seconds(3) - .nanosecond)
        #expect(Self.due(life) == nil)
        life.run(to: .seconds(3))
        #expect(Self.due(life) == .milliseconds(3_900))
        life.tell(.watchdogPinged)
        #expect(Self.due(life) == nil)
    }

    @Test("follows a deadline that moves")
    func extended() {
        var life = Timeline.pinging(Self.spec(update: .seconds(10)))
        life.at(.seconds(5), .extensionRequested(by: .seconds(9), progress: "1"))
        #expect(Self.due(life) == .milliseconds(13_900))
    }

    @Test("is over with the decision")
    func decision() {
        var life = Timeline.pinging(Self.spec(update: .seconds(10)))
        life.run(to: .seconds(10))
        #expect(life.incidents.count == 1 || life.machine.isInIncident)
        #expect(Self.due(life) == nil)
    }

    // MARK: - Whether its answer holds

    private static let start = Instant(nanoseconds: 1_000_000_000_000)

    private static func position(
        _ thread: Int32 = 7, runTime: Duration = .milliseconds(3), timeslices: UInt64 = 12
    ) -> Foresight.Position {
        Foresight.Position(thread: thread, runTime: runTime, timeslices: timeslices)
    }

    @Test("holds while the thread has had no CPU, and not after the shortest moment on one")
    func unmoved() {
        let foresight = Foresight(Self.position(), at: Self.start)
        let deadline = Self.start + Foresight.lead
        #expect(foresight.holds(at: Self.position(), deadline))
        #expect(!foresight.holds(at: Self.position(runTime: .milliseconds(3) + .nanosecond), deadline))
        #expect(!foresight.holds(at: Self.position(timeslices: 13), deadline))
        #expect(!foresight.holds(at: Self.position(8), deadline), "another thread is the main one by now")
        #expect(!foresight.holds(at: nil, deadline), "the kernel does not tell")
    }

    @Test("holds for its lifetime, and not a nanosecond longer")
    func lifetime() {
        let foresight = Foresight(Self.position(), at: Self.start)
        #expect(foresight.holds(at: Self.position(), Self.start + Foresight.lifetime))
        #expect(!foresight.holds(at: Self.position(), Self.start + Foresight.lifetime + .nanosecond))
    }
}
