// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

@Suite("Pings")
struct PingTests {
    @Test("are sent at their interval and measure the main loop")
    func interval() {
        var life = Timeline.pinging()
        life.run(to: .zero)
        life.pongTime = .milliseconds(2)
        life.tell(.ponged(nonce: life.nonces[0]))
        life.run(to: .seconds(60))
        #expect(life.pingTimes == (0...60).map { .seconds($0) })
        #expect(life.machine.pings.count == 60)
        #expect(life.machine.pings.maximum == .milliseconds(2))
        #expect(life.machine.strayAnswers == 0)
        #expect(Set(life.nonces).count == 61)
    }

    @Test("wait for the answer, and follow a slow one immediately")
    func slow() {
        var life = Timeline.pinging()
        life.at(.milliseconds(3_500), .ponged(nonce: life.nonces[0]))
        life.run(to: .milliseconds(3_500))
        #expect(life.pingTimes == [.zero, .milliseconds(3_500)])
    }

    @Test("count each nonce once")
    func habit() {
        var life = Timeline.pinging()
        life.at(.milliseconds(1), .ponged(nonce: life.nonces[0]), .ponged(nonce: life.nonces[0]), .ponged(nonce: 42))
        #expect(life.machine.strayAnswers == 2)
        life.at(.seconds(2), .ponged(nonce: life.nonces[0]))
        #expect(life.machine.strayAnswers == 3)
        life.run(to: .minutes(1))
        #expect(life.decisionTimes == [.seconds(11)])
    }

    @Test("ignore an answer to a ping that was never sent")
    func stray() {
        var life = Timeline.pinging()
        life.at(.seconds(9), .ponged(nonce: 0))
        life.run(to: .seconds(10))
        #expect(life.decisionTimes == [.seconds(10)])
    }

    @Test("are not sent without a channel, and an earlier answer does not count")
    func channelLost() {
        var life = Timeline.pinging()
        life.at(.milliseconds(1), .ponged(nonce: life.nonces[0]))
        life.at(.milliseconds(2), .channelLost)
        #expect(life.nextDeadline == nil)
        var waiting = Timeline.pinging()
        waiting.at(.milliseconds(1), .channelLost)
        waiting.at(.milliseconds(2), .ponged(nonce: waiting.nonces[0]))
        #expect(waiting.machine.strayAnswers == 1)
        waiting.run(to: .minutes(1))
        #expect(waiting.pingTimes == [.zero])
    }

    @Test("forget the oldest nonce if too many are unanswered")
    func nonceLimit() {
        var life = Timeline.pinging()
        for _ in 0..<8 { life.tell(.machineResumed(suspension: .seconds(1))) }
        #expect(life.nonces.count == 9)
        life.tell(.ponged(nonce: life.nonces[0]))
        #expect(life.machine.strayAnswers == 1)
        for nonce in life.nonces.dropFirst() { life.tell(.ponged(nonce: nonce)) }
        #expect(life.machine.strayAnswers == 1)
    }

    @Test("may be answered twice, the missed one and the fresh one, without a suspicion of blind answers")
    func bothAnswers() {
        var life = Timeline.pinging()
        life.at(.seconds(5), .machineResumed(suspension: .seconds(60)))
        #expect(life.nonces.count == 2)
        life.at(.seconds(6), .ponged(nonce: life.nonces[0]), .ponged(nonce: life.nonces[1]))
        #expect(life.machine.strayAnswers == 0)
        #expect(life.machine.pings.count == 1)
        life.tell(.ponged(nonce: life.nonces[0]))
        #expect(life.machine.strayAnswers == 1)
    }

    @Test("are closed by the answer to the fresh one")
    func freshAnswer() {
        var life = Timeline.pinging()
        life.at(.seconds(5), .machineResumed(suspension: .seconds(60)))
        life.at(.seconds(6), .ponged(nonce: life.nonces[1]), .ponged(nonce: life.nonces[0]))
        #expect(life.machine.strayAnswers == 1)
    }

    @Test(
        "report a hang from its threshold on",
        arguments: [(Duration.milliseconds(250) - .nanosecond, 0), (.milliseconds(250), 1)])
    func hang(latency: Duration, count: Int) {
        var life = Timeline.pinging()
        life.at(latency, .ponged(nonce: life.nonces[0]))
        #expect(life.machine.hangs.count == count)
        #expect(life.notices.contains(.hung(for: latency)) == (count == 1))
        #expect(life.machine.pings.count == 1)
    }

    @Test("a ping unanswered at a termination request counts as silence until it is answered")
    func silence() {
        var life = Timeline.pinging()
        life.at(.seconds(3), .terminateRequested)
        #expect(life.machine.silentSince.map { life.now - $0 } == .seconds(3))
        var late = life
        late.at(.seconds(4), .ponged(nonce: late.nonces[0]))
        #expect(late.machine.silentSince == nil)
        life.at(.seconds(4), .channelLost, .exited(.exited(code: 0)))
        #expect(life.machine.silentSince.map { life.now - $0 } == .seconds(4))

        var answered = Timeline.pinging()
        answered.at(.milliseconds(1), .ponged(nonce: answered.nonces[0]))
        answered.at(.milliseconds(500), .terminateRequested)
        #expect(answered.machine.silentSince == nil)
        var crashed = Timeline.pinging()
        crashed.at(.seconds(2), .channelLost, .exited(.exited(code: 1)))
        #expect(crashed.machine.silentSince.map { crashed.now - $0 } == .seconds(2))
    }

    @Test("have the same nonces for the same seed, and different ones for another")
    func seeds() {
        func nonce(_ seed: UInt64) -> UInt64? {
            var machine = ProcessMachine(spec: AppSpec(name: "App"), nonceSeed: seed)
            let events: [ProcessEvent] = [.launchRequested, .spawned(pid: 1), .hello, .ready(.channel)]
            let effects = events.flatMap { machine.handle($0, at: Instant(nanoseconds: 0)) }
            return effects.lazy.compactMap { if case .sendPing(let nonce) = $0 { nonce } else { nil } }.first
        }
        #expect(nonce(7) != nil)
        #expect(nonce(7) == nonce(7))
        #expect(nonce(7) != nonce(8))
    }
}

@Suite("Pushes")
struct PushTests {
    @Test("buy one allowance each")
    func pushes() {
        var life = Timeline.pushing()
        for second in stride(from: 9, through: 90, by: 9) { life.at(.seconds(second), .watchdogPinged) }
        life.run(to: .seconds(100) - .nanosecond)
        #expect(life.incidents == [])
        life.run(to: .seconds(100))
        #expect(life.decisionTimes == [.seconds(100)])
    }

    @Test("an interval set before ready counts from ready")
    func early() {
        var life = Timeline()
        life.at(.seconds(1), .watchdogIntervalChanged(.seconds(3)))
        life.at(.seconds(2), .ready(.notify))
        life.run(to: .minutes(1))
        #expect(life.decisionTimes == [.seconds(5)])
    }

    @Test("pushes that the app turns off are not watched, whatever was pending")
    func off() {
        var life = Timeline.pushing(every: .seconds(2))
        life.at(.seconds(1), .watchdogIntervalChanged(.zero), .watchdogPinged)
        #expect(life.nextDeadline == nil)
        life.at(.minutes(1), .watchdogIntervalChanged(.seconds(4)))
        life.run(to: .minutes(2))
        #expect(life.decisionTimes == [.seconds(64)])
    }

    @Test("are not required of an app that answers pings", arguments: [true, false])
    func mixed(helloIsFirst: Bool) {
        var life = Timeline(.app { $0.allowances.update = .seconds(10) })
        life.pongTime = .milliseconds(1)
        if helloIsFirst {
            life.tell(.hello, .ready(.channel), .watchdogIntervalChanged(.seconds(2)), .watchdogPinged)
        } else {
            life.tell(.ready(.notify), .watchdogIntervalChanged(.seconds(2)), .watchdogPinged, .hello)
        }
        life.run(to: .minutes(1))
        #expect(life.incidents == [])
        #expect(life.machine.pings.count == 60)
        life.pongTime = nil
        life.at(.minutes(2), .watchdogPinged, .watchdogIntervalChanged(.zero))
        life.run(to: .minutes(3))
        #expect(life.incidents.count == 1)
    }

    @Test("do not answer a ping")
    func pushIsNoPong() {
        var life = Timeline.pinging()
        life.at(.seconds(9), .watchdogPinged)
        life.run(to: .seconds(10))
        #expect(life.decisionTimes == [.seconds(10)])
    }

    @Test("may have an interval of centuries, which never runs out")
    func centuries() {
        var life = Timeline.pushing(every: .seconds(Int64.max / 1_000_000_000))
        #expect(life.machine.nextDeadline == Instant(nanoseconds: .max))
        life.at(.minutes(1_000_000), .watchdogPinged)
        #expect(life.incidents == [])
    }
}
