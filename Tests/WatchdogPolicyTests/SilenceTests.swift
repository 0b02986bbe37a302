// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

@Suite("What an app owes is known from its first missed sign of life on")
struct SilenceTests {
    private static func probed(
        failing result: ProbeResult? = .failed("refused"), _ enforcement: AppSpec.Enforcement = .kill
    ) -> Timeline {
        var life = Timeline(
            .app {
                $0.readiness = .none
                $0.livenessProbe = LivenessProbe(of: "tcp:1", interval: .seconds(3), timeout: .seconds(1))
                $0.enforcement = enforcement
            }, isLaunched: false)
        (life.livenessResult, life.livenessTime) = (result ?? .answered, result == nil ? nil : .milliseconds(2))
        life.tell(.launchRequested)
        return life
    }

    /// The reason, and how long it has been so.
    private static func silence(_ life: Timeline) -> (Silence.Reason, Duration)? {
        life.machine.silence(at: life.now).map { ($0.reason, life.now - $0.since) }
    }

    private func expect(
        _ life: Timeline, _ reason: Silence.Reason?, for duration: Duration = .zero,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let silence = Self.silence(life)
        #expect(silence?.0 == reason, sourceLocation: sourceLocation)
        if reason != nil { #expect(silence?.1 == duration, sourceLocation: sourceLocation) }
        if reason != nil { #expect(!life.machine.isAnswering(at: life.now), sourceLocation: sourceLocation) }
    }

    // MARK: - Probes

    @Test("a probe that fails, from its start on; one that has not failed yet is none")
    func firstFailure() {
        var life = Self.probed(failing: nil)
        life.run(to: .seconds(1) - .nanosecond)
        expect(life, nil)
        #expect(life.machine.isAnswering(at: life.now))
        life.run(to: .seconds(1))
        expect(life, .probes(failed: 1, needed: 3), for: .seconds(1))
        life.run(to: .seconds(4))
        expect(life, .probes(failed: 2, needed: 3), for: .seconds(4))
    }

    @Test("an answer to the next probe ends it")
    func probeAnswered() {
        var life = Self.probed()
        life.run(to: .seconds(1))
        expect(life, .probes(failed: 1, needed: 3), for: .seconds(1))
        life.livenessResult = .answered
        life.run(to: .milliseconds(3_001))
        expect(life, .probes(failed: 1, needed: 3), for: .milliseconds(3_001))
        life.run(to: .milliseconds(3_002))
        expect(life, nil)
        #expect(life.machine.isAnswering(at: life.now))
    }

    @Test("an incident that is only reported does not end it: it is as old as before")
    func reportedProbes() {
        var life = Self.probed(failing: .failed("refused"), .report)
        life.run(to: .seconds(20))
        #expect(life.reports.count == 1)
        expect(life, .probes(failed: 7, needed: 3), for: .seconds(20))
    }

    @Test("probes of an app that is launching owe nothing")
    func launching() {
        var life = Timeline(
            .app {
                $0.readiness = .probe
                $0.livenessProbe = LivenessProbe(of: "tcp:1", timeout: .seconds(1))
            }, isLaunched: false)
        life.livenessResult = .failed("refused")
        life.tell(.launchRequested)
        life.run(to: .seconds(5))
        expect(life, nil)
    }

    // MARK: - The main loop

    @Test(
        "a ping, once the app is looked at for it, from its beginning on",
        arguments: [
            (update: Duration.seconds(10), delay: Duration.seconds(1), late: Duration.seconds(1)),
            (.seconds(1), .seconds(1), .milliseconds(500)), (.seconds(10), nil, .milliseconds(250)),
        ] as [(update: Duration, delay: Duration?, late: Duration)])
    func ping(_ given: (update: Duration, delay: Duration?, late: Duration)) {
        var life = Timeline.pinging(
            .app {
                $0.allowances.update = given.update
                $0.observationDelay = given.delay
            })
        life.run(to: given.late - .nanosecond)
        expect(life, nil)
        life.run(to: given.late)
        expect(life, .ping, for: given.late)
        life.at(given.late + .milliseconds(100), .ponged(nonce: life.nonces[0]))
        expect(life, nil)
    }

    @Test("a ping that is reported is owed until it is answered")
    func reportedPing() {
        var life = Timeline.pinging(.reporting)
        life.run(to: .seconds(30))
        #expect(life.reports.count == 1)
        expect(life, .ping, for: .seconds(30))
        life.at(.seconds(31), .ponged(nonce: life.nonces[0]))
        expect(life, nil)
    }

    @Test("a push is late after three quarters of its time, and overdue at its end")
    func push() {
        var life = Timeline.pushing(.reporting, every: .seconds(8))
        life.run(to: .seconds(6) - .nanosecond)
        expect(life, nil)
        life.run(to: .seconds(6))
        expect(life, .push(isOverdue: false), for: .seconds(6))
        life.run(to: .seconds(8) - .nanosecond)
        expect(life, .push(isOverdue: false), for: .seconds(8) - .nanosecond)
        life.run(to: .seconds(8))
        expect(life, .push(isOverdue: true), for: .seconds(8))
        life.at(.seconds(20), .watchdogPinged)
        expect(life, nil)
    }

    @Test("of two, the older one is told")
    func both() {
        var life = Timeline(
            .app {
                $0.readiness = .none
                $0.livenessProbe = LivenessProbe(of: "tcp:1", interval: .seconds(3), timeout: .seconds(1))
            }, isLaunched: false)
        (life.pongTime, life.livenessTime) = (.milliseconds(5), .milliseconds(2))
        life.tell(.launchRequested, .hello)
        life.run(to: .seconds(10))
        expect(life, nil)
        life.livenessResult = .failed("refused")
        life.run(to: .seconds(13))
        life.pongTime = nil
        life.run(to: .seconds(17))
        expect(life, .probes(failed: 2, needed: 3), for: .seconds(5))
    }

    // MARK: - A stop

    @Test("a stop by a signal comes before what the app owes because of it")
    func stopped() {
        var life = Self.probed(failing: nil)
        life.at(.milliseconds(100), .stopped)
        expect(life, .held(.stopped))
        life.evidence = Evidence(state: "T")
        life.run(to: .seconds(8))
        expect(life, .held(.stopped), for: .milliseconds(7_900))
        life.at(.seconds(9), .continued)
        expect(life, nil)
    }

    @Test("a stopped app is reported as stopped even if nothing watches it, and while it launches")
    func stoppedUnwatched() {
        var idle = Timeline(.app { $0.readiness = .none })
        idle.at(.seconds(1), .stopped)
        expect(idle, .held(.stopped))
        var launching = Timeline(.app { $0.readiness = .notify })
        launching.at(.seconds(1), .stopped)
        expect(launching, .held(.stopped))
        launching.at(.seconds(2), .continued)
        expect(launching, nil)
        #expect(!launching.machine.isAnswering(at: launching.now), "it is not ready")
    }

    @Test("who traces it is told once its allowance is over")
    func traced() {
        var life = Timeline.pinging()
        life.evidence = Evidence(state: "t", tracer: 7)
        life.run(to: .seconds(11))
        #expect(Self.silence(life)?.0 == .held(.traced(by: 7)))
    }

    @Test("an app that is asked to end, or has ended, owes nothing more of this kind")
    func ending() {
        var life = Self.probed()
        life.run(to: .seconds(4))
        life.tell(.terminateRequested)
        expect(life, nil)
        life.run(to: .minutes(1))
        expect(life, nil)
    }

    @Test("an app is watched by a probe, once it answers pings, or once it pushes, and as long as it does")
    func watched() {
        #expect(Self.probed().machine.isWatched)
        #expect(Timeline.pinging().machine.isWatched)
        var pushing = Timeline.pushing()
        #expect(pushing.machine.isWatched)
        pushing.tell(.watchdogIntervalChanged(.zero))
        #expect(!pushing.machine.isWatched)
        var silent = Timeline(.app { $0.readiness = .none })
        silent.run(to: .seconds(60))
        #expect(!silent.machine.isWatched)
        silent.tell(.hello)
        #expect(silent.machine.isWatched)
    }

    // MARK: - Counting

    @Test("each failed probe of an app that is ready is measured once, also in an incident")
    func measured() {
        var machine = ProcessMachine(
            spec: .app {
                $0.readiness = .none
                $0.enforcement = .report
                $0.livenessProbe = LivenessProbe(of: "tcp:1", interval: .seconds(3), timeout: .seconds(1))
            })
        var (now, failed, started) = (Instant(nanoseconds: 0), 0, 0)
        var queue: [ProcessEvent] = [.launchRequested]
        for _ in 0..<200 where now < Instant(nanoseconds: 0) + .seconds(30) {
            let event = queue.isEmpty ? .deadlineReached : queue.removeFirst()
            if event == .deadlineReached, let due = machine.nextDeadline { now = max(now, due) }
            let step = machine.step(event, at: now)
            if step.measurement == .failedProbe { failed += 1 }
            for effect in step.effects {
                switch effect {
                case .spawn: queue.append(.spawned(pid: 1))
                case .inspect(let id): queue.append(.inspected(id: id, Evidence(state: "S")))
                case .capture: queue.append(.captured)
                case .probeLiveness: started += 1
                default: break
                }
            }
        }
        #expect(failed >= 10 && (started - 1...started).contains(failed))
    }
}
