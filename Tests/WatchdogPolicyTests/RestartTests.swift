// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TestSupport
import Testing
import WatchdogBase
import WatchdogPolicy

@Suite("Restarts")
struct RestartTests {
    /// No limit, so that only the delays matter.
    private static let unlimited = RestartSettings.with {
        $0.policy = .always
        $0.limit = .infinity
    }

    // MARK: - Waits

    @Test("The first restart is immediate, and each later one waits longer, up to the maximum")
    func waits() throws {
        var life = RestartLife(Self.unlimited)
        let expected = [0, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 51_200, 60_000, 60_000]
        for milliseconds in expected {
            let wait = try #require(life.fail().wait)
            #expect(wait.isNear(.milliseconds(milliseconds)), "\(wait) instead of \(milliseconds) ms")
            #expect(wait <= .seconds(60))
        }
    }

    @Test("A factor of one keeps the delay constant, and a zero delay stays zero")
    func flatWaits() {
        var steady = RestartLife(Self.unlimited.with { $0.factor = 1 })
        var eager = RestartLife(Self.unlimited.with { $0.delay = .zero })
        _ = steady.fail()
        for _ in 0..<20 {
            #expect(steady.fail().wait?.isNear(.milliseconds(100)) == true)
            #expect(eager.fail().wait == .zero)
        }
    }

    @Test("A run just short of healthy increases the delay; a healthy one resets it")
    func healthyRuns() {
        var life = RestartLife(Self.unlimited)
        for _ in 0..<4 { _ = life.fail() }
        #expect(life.fail(readyFor: .seconds(60) - .nanosecond).wait?.isNear(.milliseconds(800)) == true)
        #expect(life.fail(readyFor: .seconds(60)).wait == .zero)
        #expect(life.fail().wait?.isNear(.milliseconds(100)) == true)
    }

    @Test("Only time spent ready counts as healthy")
    func launchIsNotHealth() {
        var life = RestartLife(Self.unlimited)
        _ = life.fail()
        #expect(life.fail(launching: .minutes(5), readyFor: .seconds(59)).wait?.isNear(.milliseconds(100)) == true)
        #expect(life.fail(launching: .minutes(5), readyFor: nil).wait?.isNear(.milliseconds(200)) == true)
    }

    @Test("Apps with different seeds wait for different times, and with the same seed for the same time")
    func jitter() throws {
        func waits(seed: UInt64) -> [Duration?] {
            var life = RestartLife(Self.unlimited, seed: seed)
            return (0..<30).map { _ in life.fail().wait }
        }
        #expect(waits(seed: 1) == waits(seed: 1))
        let secondWaits = Set((0..<200).map { waits(seed: $0)[1] })
        #expect(secondWaits.count > 190)
        let longest = (0..<200).compactMap { waits(seed: $0)[29] }
        #expect(Set(longest).count > 190, "apps that wait for the longest time are not in step either")
        #expect(longest.allSatisfy { $0 >= .seconds(54) && $0 <= .seconds(60) })
    }

    // MARK: - Policy

    @Test("Each policy restarts after the exits that it names", arguments: RestartSettings.Policy.allCases)
    func policies(policy: RestartSettings.Policy) {
        let ends: [(RestartEnd, Set<RestartSettings.Policy>)] = [
            (.exit(0), [.always]),
            (.exit(1), [.always, .onFailure]),
            (.signal(11), [.always, .onFailure]),
            (.lost, [.always, .onFailure]),
            (.spawnFailure, [.always, .onFailure]),
            (.watchdog, [.always, .onFailure, .onWatchdog]),
            (.memory, [.always, .onFailure]),
        ]
        for (end, policies) in ends {
            var life = RestartLife(.with { $0.policy = policy })
            let answer = life.end(end, readyFor: .seconds(1))
            if policies.contains(policy) {
                #expect(answer.wait == .zero, "\(policy) after \(end)")
            } else {
                #expect(answer.decision == .stay(.policy), "\(policy) after \(end)")
            }
        }
    }

    @Test("An app that was asked to exit stays down, however it exited", arguments: RestartEnd.all)
    func requestedEnds(end: RestartEnd) {
        var life = RestartLife(Self.unlimited)
        #expect(life.end(end, readyFor: .seconds(1), wasRequested: true).decision == .stay(.requested))
    }

    @Test(
        "The outcome tells whether an exit was requested",
        arguments: [Outcome.Cause.terminated, .killedOnRequest]
    )
    func requestedOutcomes(cause: Outcome.Cause) {
        var machine = RestartMachine(settings: Shared(wrappedValue: Self.unlimited), seed: 0)
        machine.launched(at: .origin)
        let outcome = Outcome(cause: cause, status: .exited(code: 1), isDeathVerified: true)
        #expect(machine.ended(outcome, causedByMemory: false, at: .origin) == .stay(.requested))
    }

    @Test("A process that may still be alive is never launched again", arguments: RestartEnd.all)
    func unverifiedDeath(end: RestartEnd) {
        var life = RestartLife(Self.unlimited)
        #expect(life.end(end, readyFor: .seconds(90), isVerified: false).decision == .stay(.unkillable))
    }

    // MARK: - Causes

    @Test("Causes of an exit are distinguished")
    func causes() {
        let cases: [(RestartEnd, Duration?, RestartSettings.Cause)] = [
            (.exit(0), .zero, .exit), (.exit(0), nil, .launch),
            (.signal(6), .zero, .crash), (.signal(6), nil, .launch),
            (.lost, .zero, .exit), (.lost, nil, .launch),
            (.watchdog, .zero, .hang), (.watchdog, nil, .launch),
            (.memory, .zero, .memory), (.memory, nil, .memory),
            (.spawnFailure, nil, .launch),
        ]
        for (end, ready, cause) in cases {
            var life = RestartLife(Self.unlimited)
            #expect(life.end(end, readyFor: ready).cause == cause, "\(end) \(ready == nil ? "before" : "when") ready")
            life.launch()
            #expect(life.machine.restarts == 1)
            #expect(life.machine.restartsByCause == [cause: 1])
        }
    }

    // MARK: - Limits

    @Test("The limit allows exactly that many restarts")
    func limits() {
        var life = RestartLife(.with { ($0.limit, $0.consequence) = (.count(3), .stop) })
        for _ in 0..<3 { #expect(life.fail().wait != nil) }
        #expect(life.fail().decision == .limitReached(.crash, next: nil))
        #expect(life.machine.restarts == 3)
    }

    @Test("A restart counts for exactly the limit's interval")
    func limitInterval() {
        let settings = RestartSettings.with {
            ($0.limit, $0.consequence, $0.limitInterval) = (.count(1), .stop, .seconds(100))
        }
        var under = RestartLife(settings)
        _ = under.fail()
        let early = under.fail(launching: .zero, readyFor: .seconds(100) - .nanosecond)
        #expect(early.decision == .limitReached(.crash, next: nil))
        var over = RestartLife(settings)
        _ = over.fail()
        #expect(over.fail(launching: .zero, readyFor: .seconds(100)).wait == .zero)
    }

    @Test("A cause with its own limit is judged by that alone; the others share the common limit")
    func causeLimits() {
        var life = RestartLife(
            .with {
                ($0.limit, $0.consequence, $0.policy) = (.count(3), .stop, .always)
                $0.causeLimits = [.hang: .count(2), .crash: .count(5)]
            })
        for _ in 0..<5 { #expect(life.fail().wait != nil) }
        for _ in 0..<2 { #expect(life.end(.watchdog, readyFor: .zero).wait != nil) }
        for end in [RestartEnd.exit(1), .exit(1), .memory] { #expect(life.end(end, readyFor: .zero).wait != nil) }
        var other = life
        #expect(other.fail().decision == .limitReached(.crash, next: nil))
        other = life
        #expect(other.end(.watchdog, readyFor: .zero).decision == .limitReached(.hang, next: nil))
        #expect(life.end(.exit(1), readyFor: .zero).decision == .limitReached(.exit, next: nil))
    }

    @Test("The reached limit is known until the next launch, even in a restored machine")
    func reachedLimit() {
        var life = RestartLife(
            .with {
                ($0.limit, $0.policy, $0.consequence) = (.count(2), .always, .stop)
                ($0.limitInterval, $0.causeLimits) = (.minutes(10), [.hang: .count(1)])
            })
        _ = life.end(.watchdog, readyFor: .zero)
        #expect(life.machine.reachedLimit == nil)
        _ = life.end(.watchdog, readyFor: .zero)
        life.saveAndRestore()
        let limit = life.machine.reachedLimit
        #expect(limit == .init(cause: .hang, count: 1, interval: .minutes(10)))
        #expect(limit?.key == "LimitHang")
        life.reset()
        #expect(life.machine.reachedLimit == nil)
        for _ in 0..<3 { _ = life.fail() }
        #expect(life.machine.reachedLimit == .init(cause: nil, count: 2, interval: .minutes(10)))
        #expect(life.machine.reachedLimit?.key == "Limit")
        life.launch()
        #expect(life.machine.reachedLimit == nil)
    }

    @Test("A cause without a limit does not use up the common one")
    func infiniteCause() {
        var life = RestartLife(
            .with {
                ($0.limit, $0.consequence) = (.count(1), .stop)
                $0.causeLimits = [.crash: .infinity]
            })
        for _ in 0..<50 { #expect(life.fail().wait != nil) }
        #expect(life.end(.watchdog, readyFor: .zero).wait != nil)
        #expect(life.end(.watchdog, readyFor: .zero).decision == .limitReached(.hang, next: nil))
    }

    @Test("With keep-trying, an app that has reached its limit waits for the maximum delay")
    func keepTrying() throws {
        var life = RestartLife(.with { ($0.limit, $0.maximumDelay) = (.count(2), .seconds(30)) })
        for _ in 0..<2 { #expect(life.fail().cause != nil) }
        for _ in 0..<5 {
            let answer = life.fail()
            let wait = try #require(answer.wait)
            #expect(answer.decision == .limitReached(.crash, next: life.now + wait))
            #expect(wait >= .seconds(27) && wait <= .seconds(30))
        }
        #expect(life.machine.restarts == 6, "and the seventh is under way")
    }

    @Test("A manual launch resets everything, and is not a restart")
    func reset() {
        var life = RestartLife(.with { ($0.limit, $0.consequence) = (.count(2), .stop) })
        for _ in 0..<3 { _ = life.fail() }
        life.reset()
        #expect(life.fail().wait == .zero)
        #expect(life.fail().wait?.isNear(.milliseconds(100)) == true)
        #expect(life.fail().decision == .limitReached(.crash, next: nil))
        #expect(life.machine.restarts == 4)
    }

    @Test("New settings apply from the next exit on, and earlier restarts count toward them")
    func update() {
        var life = RestartLife(Self.unlimited)
        for _ in 0..<5 { _ = life.fail() }
        life.update(.with { ($0.limit, $0.consequence) = (.count(4), .stop) })
        #expect(life.fail().decision == .limitReached(.crash, next: nil))
        life.update(Self.unlimited.with { $0.maximumDelay = .milliseconds(300) })
        let wait = life.fail().wait
        #expect(wait.map { $0 >= .milliseconds(270) && $0 <= .milliseconds(300) } == true)
    }

    // MARK: - Random lives

    @Test("Random lives respect limits, delays and silence", arguments: 0..<200 as Range<UInt64>)
    func randomLives(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let settings = RestartSettings.random(&generator)
        var life = RestartLife(settings, seed: seed)
        var restarts: [(at: Instant, cause: RestartSettings.Cause)] = []
        for _ in 0..<300 {
            let end = generator.pick(RestartEnd.all)
            let isVerified = !generator.oneIn(40)
            let wasRequested = generator.oneIn(40)
            if generator.oneIn(10) { life.saveAndRestore() }
            let decision = life.end(
                end, launching: .milliseconds(generator.below(3_000)),
                readyFor: generator.oneIn(4) ? nil : .milliseconds(generator.below(20_000)),
                wasRequested: wasRequested, isVerified: isVerified
            ).decision
            switch decision {
            case .stay(let reason):
                #expect(reason == (isVerified ? wasRequested ? .requested : .policy : .unkillable))
                life.reset()
                restarts = []
            case .restart(let next, let cause):
                #expect(isVerified && !wasRequested)
                #expect(next >= life.now && next - life.now <= settings.maximumDelay)
                restarts.append((next, cause))
                #expect(settings.most(for: cause) >= settings.counted(restarts, with: cause, at: next))
            case .limitReached(let cause, let next?):
                #expect(isVerified && !wasRequested && settings.consequence == .keepTrying)
                #expect(next > life.now && next - life.now <= settings.maximumDelay)
                restarts.append((next, cause))
            case .limitReached(let cause, nil):
                #expect(isVerified && !wasRequested && settings.consequence == .stop)
                let inSight = settings.counted(restarts, with: cause, at: life.now)
                #expect(inSight >= settings.most(for: cause))
                life.reset()
                restarts = []
            }
            #expect(life.machine.restartsByCause.values.reduce(0, +) == life.machine.restarts)
        }
    }

    @Test("A restored machine continues as if nothing had happened")
    func saving() throws {
        let settings = RestartSettings.with { $0.causeLimits = [.hang: .count(3), .memory: .infinity] }
        var life = RestartLife(settings, seed: 7)
        for _ in 0..<4 { _ = life.fail() }
        var restored = life
        restored.saveAndRestore()
        #expect(restored.machine == life.machine)
        for _ in 0..<20 { #expect(restored.fail() == life.fail()) }
    }
}
