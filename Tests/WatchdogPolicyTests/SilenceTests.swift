// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

@Suite("The silence of an app, from its first missed sign of life")
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

    /// The reason and the age of the silence.
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

    @Test("begins when the first probe that fails started; a running probe does not count")
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

    @Test("ends with the next successful probe")
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

    @Test("keeps its age across an incident that is only reported")
    func reportedProbes() {
        var life = Self.probed(failing: .failed("refused"), .report)
        life.run(to: .seconds(20))
        #expect(life.reports.count == 1)
        expect(life, .probes(failed: 7, needed: 3), for: .seconds(20))
    }

    @Test("does not count probes of a launching app")
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
        "begins with an unanswered ping, once the app is observed for it",
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

    @Test("lasts until a reported ping is answered")
    func reportedPing() {
        var life = Timeline.pinging(.reporting)
        life.run(to: .seconds(30))
        #expect(life.reports.count == 1)
        expect(life, .ping, for: .seconds(30))
        life.at(.seconds(31), .ponged(nonce: life.nonces[0]))
        expect(life, nil)
    }

    @Test("counts a push as late after three quarters of its time, and as overdue at its end")
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

    @Test("has the older of two reasons")
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

    @Test("names a stop by a signal first")
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

    @Test("reports a stopped app even if nothing watches it, and during the launch")
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

    @Test("names the tracer once the allowance is over")
    func traced() {
        var life = Timeline.pinging()
        life.evidence = Evidence(state: "t", tracer: 7)
        life.run(to: .seconds(11))
        #expect(Self.silence(life)?.0 == .held(.traced(by: 7)))
    }

    @Test("ends when the app is asked to exit, or has exited")
    func ending() {
        var life = Self.probed()
        life.run(to: .seconds(4))
        life.tell(.terminateRequested)
        expect(life, nil)
        life.run(to: .minutes(1))
        expect(life, nil)
    }

    @Test("counts as watched an app that is probed, answers pings, or pushes")
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

    @Test("measures each failed probe of a ready app once, even during an incident")
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
