// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogPolicy

@Suite("Launch")
struct LaunchTests {
    @Test("one process is started, however often it is requested")
    func oneSpawn() {
        var machine = ProcessMachine(spec: AppSpec(name: "App"))
        let now = Instant(nanoseconds: 0)
        #expect(machine.handle(.launchRequested, at: now) == [.spawn])
        #expect(machine.handle(.launchRequested, at: now) == [])
        #expect(machine.handle(.spawned(pid: 7), at: now) == [.announce(.launched(pid: 7)), .beginWindow])
        #expect(machine.handle(.launchRequested, at: now) == [])
        #expect(machine.handle(.spawned(pid: 8), at: now) == [])
        #expect(machine.launchedAt == now)
    }

    @Test("a failed spawn ends the launch with its own cause")
    func spawnFailure() {
        var machine = ProcessMachine(spec: AppSpec(name: "App"))
        let now = Instant(nanoseconds: 0)
        _ = machine.handle(.launchRequested, at: now)
        let outcome = Outcome(cause: .spawnFailed, status: nil, isDeathVerified: true)
        #expect(machine.handle(.spawnFailed, at: now) == [.finish(outcome)])
        #expect(machine.handle(.launchRequested, at: now) == [])
    }

    @Test("an app that was never launched can be terminated")
    func endOfNothing() {
        var life = Timeline(isLaunched: false)
        life.tell(.terminateRequested)
        #expect(life.effects == [.finish(Outcome(cause: .terminated, status: nil, isDeathVerified: true))])
    }

    @Test(
        "a termination request that precedes the process is carried out once the process exists", arguments: [1, 2, 3])
    func unwanted(requests: Int) {
        var machine = ProcessMachine(spec: AppSpec(name: "App"))
        let now = Instant(nanoseconds: 0)
        _ = machine.handle(.launchRequested, at: now)
        for _ in 0..<requests { #expect(machine.handle(.terminateRequested, at: now) == []) }
        let effects = machine.handle(.spawned(pid: 7), at: now)
        #expect(effects.contains(.terminate))
        #expect(effects.contains(.killTree) == (requests > 1))
        #expect(machine.phase == (requests > 1 ? .dying : .terminating(isRequested: true)))
    }

    @Test("hello splits the budget without losing or gaining a nanosecond")
    func budget() throws {
        var life = Timeline()
        life.at(.nanoseconds(1_234_567_891), .hello)
        life.run(to: .minutes(1))
        let incident = try #require(life.incidents.first)
        #expect(life.decisionTimes == [.seconds(20)])
        #expect(incident.event == .sceneCreate)
        #expect(incident.allowance == .seconds(20) - .nanoseconds(1_234_567_891))
    }

    @Test("a hello in the last instant leaves no budget")
    func lateHello() {
        var life = Timeline()
        life.at(.seconds(20), .hello)
        life.run(to: .minutes(1))
        #expect(life.incidents.map(\.event) == [.sceneCreate])
        #expect(life.incidents.map(\.allowance) == [.zero])
        #expect(life.decisionTimes == [.seconds(20)])
    }

    @Test("a second hello changes nothing")
    func secondHello() {
        var life = Timeline()
        life.at(.seconds(5), .hello)
        let count = life.log.count
        life.at(.seconds(15), .hello)
        #expect(life.log.count == count)
        life.run(to: .minutes(1))
        #expect(life.incidents.map(\.allowance) == [.seconds(15)])
    }

    @Test("the launch lasts until ready, which counts once")
    func duration() {
        var life = Timeline()
        life.at(.milliseconds(400), .ready(.notify))
        life.at(.seconds(2), .ready(.notify), .ready(.channel))
        #expect(life.machine.launchDuration == .milliseconds(400))
        #expect(life.notices == [.launched(pid: 100), .ready(.notify, after: .milliseconds(400))])
    }

    @Test("READY=1 before hello makes the app ready, and hello then starts the pings")
    func readyBeforeHello() {
        var life = Timeline()
        life.at(.seconds(1), .ready(.channel))
        #expect(life.nextDeadline == nil)
        life.at(.seconds(3), .hello)
        #expect(life.pingTimes == [.seconds(3)])
        life.run(to: .minutes(1))
        #expect(life.decisionTimes == [.seconds(13)])
    }

    @Test("an app that sends only READY=1 is not watched afterwards")
    func readyOnly() {
        var life = Timeline()
        life.at(.seconds(1), .ready(.notify))
        life.run(to: .minutes(600))
        #expect(life.nextDeadline == nil)
        #expect(life.incidents == [])
    }
}

@Suite("Readiness")
struct ReadinessTests {
    private static let sources: [ReadinessSource] = [.channel, .notify, .probe, .exec]

    private static let accepted: [Readiness: [ReadinessSource]] = [
        .automatic: [.channel, .notify, .probe, .exec],
        .channel: [.channel],
        .notify: [.notify],
        .listening: [.probe],
        .command: [.probe],
    ]

    @Test("readiness counts only from the configured source", arguments: accepted)
    func sources(_ row: (readiness: Readiness, accepted: [ReadinessSource])) {
        for source in Self.sources {
            var life = Timeline(.app { $0.readiness = row.readiness })
            life.at(.seconds(1), .ready(source))
            let isReady = life.machine.phase == .running
            #expect(isReady == row.accepted.contains(source), "\(source)")
        }
    }

    @Test("readiness of kind none comes with execve")
    func exec() {
        let life = Timeline(.app { $0.readiness = .none })
        #expect(life.notices == [.launched(pid: 100), .ready(.exec, after: .zero)])
        #expect(life.nextDeadline == nil)
    }

    @Test("automatic readiness is assumed for a silent app at its limit, to the nanosecond")
    func assumed() {
        var life = Timeline()
        life.run(to: .seconds(20) - .nanosecond)
        #expect(life.machine.phase == .launching)
        life.run(to: .seconds(20))
        #expect(life.notices.last == .ready(.assumed, after: .seconds(20)))
        #expect(life.nextDeadline == nil)
        #expect(life.incidents == [])
    }

    @Test(
        "automatic readiness requires READY=1 from an app that has sent a message",
        arguments: [
            ProcessEvent.hello, .notified, .watchdogPinged, .watchdogIntervalChanged(.seconds(1)),
            .watchdogIntervalChanged(.zero), .extensionRequested(by: .seconds(1), progress: nil),
        ])
    func spoken(_ word: ProcessEvent) {
        var life = Timeline()
        life.at(.seconds(20) - .nanosecond, word)
        life.run(to: .seconds(20))
        #expect(life.decisionTimes == [.seconds(20)])
    }

    @Test(
        "readiness of any other kind is never assumed", arguments: [Readiness.channel, .notify, .listening, .command])
    func silent(_ readiness: Readiness) {
        var life = Timeline(.app { $0.readiness = readiness })
        life.run(to: .seconds(20))
        #expect(life.decisionTimes == [.seconds(20)])
    }

    @Test("an app that loses the channel it would report on is assumed ready", arguments: [true, false])
    func channelLost(isAwaited: Bool) {
        var life = Timeline(.app { $0.readiness = isAwaited ? .channel : .notify })
        life.at(.seconds(1), .channelLost)
        #expect(life.machine.phase == (isAwaited ? .running : .launching))
        #expect(life.notices.contains(.channelLost) == isAwaited)
    }

    @Test("an app that was assumed ready is pinged after its hello")
    func helloAfterAssumed() {
        var life = Timeline()
        life.at(.seconds(30), .hello, .ready(.channel))
        #expect(life.pingTimes == [.seconds(30)])
        #expect(life.machine.launchDuration == .seconds(20))
    }

    private static func probeTimes(_ life: Timeline) -> [Duration] {
        life.log.filter { $0.effect == .probe }.map(\.at)
    }

    @Test("probes begin with the launch and slow down to their interval until one succeeds")
    func probes() {
        var life = Timeline(.app { $0.readiness = .command })
        life.probeResult = false
        life.run(to: .milliseconds(100))
        #expect(Self.probeTimes(life) == [0, 5, 10, 20, 40, 65, 90].map { .milliseconds($0) })
        life.probeResult = true
        life.run(to: .seconds(60))
        #expect(life.machine.launchDuration == .milliseconds(115))
        #expect(Self.probeTimes(life).count == 8)
    }

    @Test("probe delays double up to a longer interval", arguments: [Readiness.listening, .command])
    func probeSteps(_ readiness: Readiness) {
        var life = Timeline(.app { ($0.readiness, $0.probeInterval) = (readiness, .milliseconds(250)) })
        life.probeResult = false
        life.run(to: .milliseconds(900))
        #expect(
            Self.probeTimes(life) == [0, 5, 10, 20, 40, 80, 160, 320, 570, 820].map { .milliseconds($0) })
    }

    @Test("a first probe that succeeds makes the app ready immediately")
    func readyAtOnce() {
        var life = Timeline(.app { $0.readiness = .command })
        life.probeResult = true
        life.run(to: .milliseconds(1))
        #expect(life.machine.launchDuration == .zero)
        #expect(Self.probeTimes(life) == [.zero])
    }

    @Test("a probe counts just before the launch deadline, but not after it")
    func probeAtDeadline() {
        func life() -> Timeline {
            var life = Timeline(.app { ($0.readiness, $0.allowances.launch) = (.command, .milliseconds(35)) })
            life.inspectionTime = .milliseconds(1)
            life.at(.milliseconds(1), .probed(isReady: false))
            return life
        }
        var intime = life()
        intime.at(.milliseconds(35) - .nanoseconds(1), .probed(isReady: true))
        intime.run(to: .minutes(1))
        #expect(intime.incidents == [])
        #expect(intime.machine.readinessSource == .probe)
        var late = life()
        late.run(to: .milliseconds(36))
        late.tell(.probed(isReady: true))
        late.run(to: .minutes(1))
        #expect(late.decisionTimes == [.milliseconds(36)])
    }

    @Test("probes never overlap")
    func slowProbe() {
        var life = Timeline(.app { ($0.readiness, $0.enforcement) = (.command, .report) })
        life.run(to: .minutes(1))
        #expect(Self.probeTimes(life) == [.zero])
        #expect(life.incidents.count == 1)
        life.at(.minutes(2), .probed(isReady: false))
        #expect(life.nextDeadline == .minutes(2) + .milliseconds(25))
        life.run(to: .minutes(3))
        #expect(Self.probeTimes(life).count == 2)
    }

    @Test("probe results are ignored for an app that is not probed", arguments: [true, false])
    func unprobed(isReady: Bool) {
        var life = Timeline(.app { $0.readiness = .channel })
        life.at(.seconds(1), .probed(isReady: isReady))
        #expect(life.machine.phase == .launching)
        #expect(life.nextDeadline == .seconds(20))
    }
}
