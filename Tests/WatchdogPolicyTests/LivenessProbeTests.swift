// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

/// Probes every 3 s that may take 1 s each; three failures make an incident.
@Suite("Liveness probes")
struct LivenessProbeTests {
    private static func spec(
        _ readiness: Readiness = .none, _ change: (inout AppSpec) -> Void = { _ in }
    ) -> AppSpec {
        .app {
            $0.readiness = readiness
            $0.livenessProbe = LivenessProbe(of: "tcp:1", timeout: .seconds(1))
            change(&$0)
        }
    }

    /// An app that was ready immediately.
    private static func probed(
        _ spec: AppSpec = spec(), answering: Duration? = .milliseconds(2), result: ProbeResult = .answered
    ) -> Timeline {
        var life = Timeline(spec, isLaunched: false)
        life.livenessResult = result
        life.livenessTime = answering
        life.tell(.launchRequested)
        return life
    }

    private static let incident = MissedProbes(target: "tcp:1", count: 3, last: .noAnswer, lastDuration: .seconds(1))

    @Test("A suspension of the machine clears earlier failures")
    func suspended() {
        var life = Self.probed(result: .failed("refused"))
        life.run(to: .seconds(4))
        life.ask(.suspend)
        life.ask(.resume, at: .seconds(5))
        life.run(to: .seconds(11))
        #expect(life.decisionTimes == [])
        life.run(to: .milliseconds(11_002))
        #expect(life.decisionTimes == [.milliseconds(11_002)])
    }

    // MARK: - The rhythm

    @Test("Probes start at fixed intervals, however long an answer takes")
    func rhythm() {
        var life = Self.probed(answering: .milliseconds(900))
        life.run(to: .seconds(9))
        #expect(life.probeTimes == [.zero, .seconds(3), .seconds(6), .seconds(9)])
        #expect(life.machine.probes.count == 3 && life.machine.probes.maximum == .milliseconds(900))
    }

    @Test("Probes never overlap")
    func oneAtATime() {
        var life = Self.probed(
            Self.spec { $0.livenessProbe = LivenessProbe(of: "x", interval: .seconds(1), timeout: .seconds(5)) },
            answering: .milliseconds(2_500))
        life.run(to: .seconds(6))
        #expect(life.probeTimes == [.zero, .milliseconds(2_500), .milliseconds(5_000)])
    }

    @Test("Probes begin when the app is ready")
    func afterReadiness() {
        var life = Self.probed(Self.spec(.notify))
        life.run(to: .seconds(4))
        #expect(life.probeTimes.isEmpty)
        life.at(.seconds(5), .ready(.notify))
        life.run(to: .seconds(5))
        #expect(life.probeTimes == [.seconds(5)])
    }

    @Test("With probe readiness, the first success makes the app ready; earlier failures do not count")
    func readinessByProbe() {
        var life = Self.probed(Self.spec(.probe) { $0.probeInterval = .seconds(2) })
        life.livenessResult = .failed("connection refused")
        life.run(to: .seconds(11))
        #expect(life.probeTimes == [2, 4, 6, 8, 10].map { .seconds($0) })
        #expect(life.machine.phase == .launching)
        life.livenessResult = .answered
        life.run(to: .milliseconds(12_002))
        #expect(life.time(of: .ready(.probe, after: .milliseconds(12_002))) == .milliseconds(12_002))
        life.run(to: .seconds(15))
        #expect(life.probeTimes.suffix(2) == [.seconds(12), .seconds(15)])
        #expect(!life.notices.contains { if case .probe = $0 { true } else { false } })
        #expect(life.transgressions.isEmpty)
    }

    @Test("An app that never answers its probe fails to launch, and single failures are not announced")
    func neverReady() {
        var life = Self.probed(Self.spec(.probe), answering: nil)
        life.run(to: .seconds(20))
        #expect(life.incidents.map(\.event) == [.processLaunch])
        #expect(life.incidents.map(\.cause) == [.exhausted])
        #expect(!life.notices.contains { if case .probe = $0 { true } else { false } })
    }

    @Test("A silent app becomes ready with its first successful probe, and is probed from then on")
    func silentAndAnswering() {
        var life = Self.probed(Self.spec(.automatic) { $0.probeInterval = .milliseconds(250) })
        life.livenessResult = .failed("connection refused")
        life.run(to: .milliseconds(750))
        #expect(life.machine.phase == .launching)
        life.livenessResult = .answered
        life.run(to: .milliseconds(1_002))
        #expect(life.time(of: .ready(.probe, after: .milliseconds(1_002))) == .milliseconds(1_002))
        life.run(to: .milliseconds(4_000))
        #expect(life.probeTimes == [250, 500, 750, 1_000, 4_000].map { .milliseconds($0) })
        #expect(!life.notices.contains { if case .probe = $0 { true } else { false } })
    }

    @Test("An app that has sent a message must report READY=1; a probe that succeeded just before still counts")
    func speakingAndAnswering() {
        let spec = Self.spec(.automatic) { $0.probeInterval = .milliseconds(250) }
        var speaking = Self.probed(spec)
        speaking.at(.milliseconds(250) - .nanosecond, .notified)
        speaking.run(to: .seconds(20))
        #expect(speaking.probeTimes == [])
        #expect(speaking.incidents.map(\.event) == [.processLaunch])
        var asked = Self.probed(spec)
        asked.at(.milliseconds(251), .notified)
        asked.run(to: .seconds(19))
        #expect(asked.probeTimes == [.milliseconds(250)] && asked.machine.phase == .launching)
        #expect(asked.effects.contains(.cancelLivenessProbe))
        var silent = Self.probed(spec)
        silent.at(.milliseconds(253), .notified)
        #expect(silent.time(of: .ready(.probe, after: .milliseconds(252))) == .milliseconds(252))
    }

    @Test("An app that neither sends a message nor answers is assumed ready at its limit; only later failures count")
    func silentAndUnanswering() {
        let spec = Self.spec(.automatic) { $0.probeInterval = .milliseconds(700) }
        var life = Self.probed(spec, answering: nil)
        life.run(to: .seconds(20) - .nanosecond)
        #expect(life.machine.phase == .launching && life.incidents.isEmpty)
        life.run(to: .seconds(20))
        #expect(life.time(of: .ready(.assumed, after: .seconds(20))) == .seconds(20))
        #expect(life.probeTimes.last == .seconds(20))
        life.run(to: .seconds(27) - .nanosecond)
        #expect(life.transgressions.isEmpty)
        life.run(to: .seconds(27))
        #expect(life.incidents.map(\.cause) == [.probesFailed(Self.incident)])
    }

    // MARK: - Incidents

    @Test("Three unanswered probes are an incident, at the end of the third and not before")
    func threshold() {
        var life = Self.probed(answering: nil)
        life.run(to: .seconds(7) - .nanosecond)
        #expect(life.transgressions.isEmpty)
        life.run(to: .seconds(7))
        #expect(life.decisionTimes == [.seconds(7)])
        let incident = life.incidents[0]
        #expect(incident.event == .sceneUpdate && incident.cause == .probesFailed(Self.incident))
        #expect(incident.allowance == .seconds(7) && incident.deadline == incident.decidedAt)
        #expect(life.effects.filter { $0 == .cancelLivenessProbe }.count == 3)
        #expect("\(Self.incident)" == "3 probes of tcp:1 failed, the last after 1.00 s: no answer")
        life.run(to: .seconds(8))
        #expect(life.outcome?.isDeathVerified == true)
    }

    @Test("An answer at the last moment spares the app; a late one does not")
    func lastMoment() {
        var spared = Self.probed(answering: nil)
        spared.run(to: .seconds(6))
        spared.at(.seconds(7), .livenessProbed(id: 3, .answered))
        spared.run(to: .seconds(10) - .nanosecond)
        #expect(spared.transgressions.isEmpty)
        #expect(spared.time(of: .probe(.recovered(failures: 2))) == .seconds(7))
        var late = Self.probed(answering: nil)
        late.run(to: .seconds(1))
        late.tell(.livenessProbed(id: 1, .answered))
        late.run(to: .seconds(7))
        #expect(late.decisionTimes == [.seconds(7)])
    }

    @Test("A refused connection counts like a timeout")
    func refusals() {
        var life = Self.probed(result: .failed("connection refused"))
        life.run(to: .milliseconds(6_002))
        let missed = MissedProbes(
            target: "tcp:1", count: 3, last: .failed("connection refused"), lastDuration: .milliseconds(2))
        #expect(life.incidents.map(\.cause) == [.probesFailed(missed)])
        #expect("\(missed)" == "3 probes of tcp:1 failed, the last after 2.00 ms: connection refused")
    }

    @Test("A successful probe resets the failure count")
    func interrupted() {
        var life = Self.probed(answering: nil)
        for round in 0..<10 {
            life.run(to: .seconds(9 * round + 6))
            life.tell(.livenessProbed(id: 3 * round + 3, .answered))
        }
        #expect(life.probeTimes.count == 30 && life.transgressions.isEmpty)
    }

    @Test("A probe that cannot be made is not held against the app, and is reported once")
    func impossible() {
        var life = Self.probed(result: .impossible("Too many open files"))
        life.run(to: .minutes(2))
        #expect(life.transgressions.isEmpty)
        #expect(life.notices.count { $0 == .probe(.impossible("Too many open files")) } == 1)
    }

    @Test("A probe that becomes impossible again is reported again")
    func impossibleAgain() {
        var life = Self.probed(result: .impossible("EMFILE"))
        life.run(to: .seconds(4))
        #expect(life.machine.isProbeImpossible)
        life.livenessResult = .failed("refused")
        life.run(to: .seconds(7))
        #expect(!life.machine.isProbeImpossible)
        life.livenessResult = .impossible("EMFILE")
        life.run(to: .seconds(10))
        #expect(life.notices.filter { $0 == .probe(.impossible("EMFILE")) }.count == 2)
    }

    @Test("In report mode, one hang has one report, and its end is announced")
    func reportMode() {
        var life = Self.probed(Self.spec { $0.enforcement = .report }, answering: nil)
        life.run(to: .seconds(60))
        #expect(life.decisionTimes == [.seconds(7)] && life.reports.count == 1)
        #expect(life.machine.isInIncident)
        life.livenessTime = .zero
        life.run(to: .seconds(63))
        #expect(life.time(of: .hung(for: .seconds(63))) == .seconds(63))
        #expect(!life.machine.isInIncident)
        life.livenessTime = nil
        life.run(to: .seconds(73))
        #expect(life.decisionTimes == [.seconds(7), .seconds(73)])
    }

    @Test("A termination request cancels the probe")
    func termination() {
        var life = Self.probed(answering: nil)
        life.at(.milliseconds(500), .terminateRequested)
        #expect(life.effects.contains(.cancelLivenessProbe))
        life.run(to: .seconds(5))
        #expect(life.probeTimes == [.zero])
    }

    // MARK: - Beside pings

    @Test("An app that answers its pings is still killed for failed probes")
    func besidePings() {
        var life = Timeline(Self.spec(.automatic), isLaunched: false)
        (life.livenessTime, life.pongTime) = (nil, .milliseconds(1))
        life.tell(.launchRequested, .hello, .ready(.channel))
        life.run(to: .seconds(7))
        #expect(life.incidents.map(\.cause) == [.probesFailed(Self.incident)])
        #expect(life.machine.pings.count == 7)
    }

    @Test("A hang that fails both pings and probes is one incident")
    func oneIncident() {
        var life = Timeline(
            Self.spec(.automatic) { ($0.enforcement, $0.allowances.update) = (.report, .seconds(5)) },
            isLaunched: false)
        life.livenessTime = nil
        life.tell(.launchRequested, .hello, .ready(.channel))
        life.run(to: .seconds(60))
        #expect(life.incidents.map(\.cause) == [.exhausted])
    }

    // MARK: - Fairness

    @Test("A supervisor that overslept the end of a probe repeats the probe instead of counting it")
    func oversleep() {
        var life = Self.probed(answering: nil)
        life.run(to: .seconds(6))
        life.oversleep(to: .seconds(7) + .milliseconds(101), .deadlineReached)
        #expect(life.transgressions.isEmpty)
        #expect(life.notices.last == .probe(.overslept(by: .milliseconds(101))))
        #expect(life.probeTimes.last == .milliseconds(7_101))
        life.run(to: .milliseconds(8_101))
        #expect(life.decisionTimes == [.milliseconds(8_101)])
        var punctual = Self.probed(answering: nil)
        punctual.run(to: .seconds(6))
        punctual.oversleep(to: .seconds(7) + .milliseconds(100), .deadlineReached)
        #expect(punctual.decisionTimes == [.milliseconds(7_100)])
    }

    @Test("After a suspension of the machine, a fresh probe must fail")
    func suspension() {
        var life = Self.probed(answering: nil)
        life.at(.milliseconds(6_500), .machineResumed(suspension: .seconds(60)))
        life.run(to: .milliseconds(7_499))
        #expect(life.transgressions.isEmpty)
        life.run(to: .milliseconds(7_500))
        #expect(life.decisionTimes == [.milliseconds(7_500)])
    }

    @Test("Starvation is credited once, and later failures count")
    func starvation() {
        var life = Self.probed(answering: nil)
        life.evidence = Evidence(state: "R", runDelay: .seconds(4))
        life.run(to: .seconds(11) - .nanosecond)
        #expect(life.notices.contains(.probe(.credited(.seconds(4)))))
        #expect(life.transgressions.isEmpty)
        life.run(to: .seconds(13))
        #expect(life.decisionTimes == [.seconds(13)], "the first failure after 11 s")
        #expect(life.incidents[0].credit == .seconds(4))
    }

    @Test("Run delay below a hundredth of the allowance is ignored")
    func littleStarvation() {
        var life = Self.probed(answering: nil)
        life.evidence = Evidence(state: "R", runDelay: .milliseconds(70) - .nanosecond)
        life.run(to: .seconds(7))
        #expect(life.decisionTimes == [.seconds(7)])
    }

    @Test(
        "A traced or frozen app is neither probed nor killed, and starts over afterwards",
        arguments: [Evidence(state: "t", tracer: 42), Evidence(state: "S", isFrozen: true)]
    )
    func heldFromOutside(evidence: Evidence) throws {
        var life = Self.probed(answering: nil)
        life.evidence = evidence
        life.run(to: .minutes(10))
        #expect(life.transgressions.isEmpty && life.probeTimes.count == 3)
        #expect(life.notices.contains(.probe(.paused(try #require(evidence.pause)))))
        life.evidence = Evidence(state: "S")
        life.run(to: .minutes(10) + .seconds(7) - .nanosecond)
        #expect(life.transgressions.isEmpty)
        life.run(to: .minutes(10) + .seconds(8))
        #expect(life.decisionTimes.count == 1)
    }

    @Test("A stop that nobody holds excuses the app for one probe timeout, and no longer")
    func stopped() {
        var life = Self.probed(answering: nil)
        life.evidence = Evidence(state: "T")
        life.at(.milliseconds(100), .stopped)
        life.run(to: .milliseconds(10_100) - .nanosecond)
        #expect(life.transgressions.isEmpty)
        life.run(to: .milliseconds(10_100))
        #expect(life.decisionTimes == [.milliseconds(10_100)])
        #expect(life.incidents[0].evidence?.pause == .stopped)
        #expect(life.incidents[0].paused == .milliseconds(3_100))
    }

    @Test("A stop that was found, rather than seen to begin, excuses from when it was found")
    func foundStopped() {
        var life = Self.probed(answering: nil)
        life.evidence = Evidence(state: "T")
        life.run(to: .seconds(17) - .nanosecond)
        #expect(life.transgressions.isEmpty)
        life.run(to: .seconds(17))
        #expect(life.decisionTimes == [.seconds(17)])
    }

    @Test(
        "A second report of the same stop excuses no longer; a stop after the app ran does", arguments: [false, true])
    func stoppedAgain(hasRun: Bool) {
        var life = Self.probed(answering: nil)
        life.evidence = Evidence(state: "T")
        life.at(.milliseconds(100), .stopped)
        if hasRun { life.at(.seconds(4), .continued) }
        life.at(.seconds(5), .stopped)
        let end: Duration = hasRun ? .seconds(15) : .milliseconds(10_100)
        life.run(to: end - .nanosecond)
        #expect(life.transgressions.isEmpty)
        life.run(to: end)
        #expect(life.decisionTimes == [end])
    }

    @Test("An app that is continued in time is probed again, and its earlier failures are cleared")
    func continued() {
        var life = Self.probed(answering: nil)
        life.evidence = Evidence(state: "T")
        life.at(.milliseconds(100), .stopped)
        life.at(.milliseconds(10_099), .continued)
        life.evidence = Evidence(state: "S")
        #expect(life.probeTimes.last == .milliseconds(10_099))
        life.run(to: .milliseconds(17_099) - .nanosecond)
        #expect(life.transgressions.isEmpty)
        life.run(to: .milliseconds(17_099))
        #expect(life.decisionTimes == [.milliseconds(17_099)])
    }

    @Test("A process that is stopped and then traced counts as held")
    func stoppedThenTraced() {
        var life = Self.probed(answering: nil)
        life.evidence = Evidence(state: "T")
        life.at(.milliseconds(100), .stopped)
        life.run(to: .seconds(8))
        life.evidence = Evidence(state: "t", tracer: 42)
        life.run(to: .minutes(10))
        #expect(life.transgressions.isEmpty)
    }

    // MARK: - Workers

    @Test("A stopped worker excuses the app for one probe timeout from when it was found")
    func stoppedServer() {
        var life = Self.probed(answering: nil)
        life.evidence = Evidence(state: "S", serverPause: .stopped)
        life.run(to: .seconds(17) - .nanosecond)
        #expect(life.transgressions.isEmpty && life.probeTimes.count == 3)
        #expect(life.notices.contains(.probe(.paused(.stopped))))
        life.run(to: .seconds(17))
        #expect(life.decisionTimes == [.seconds(17)])
    }

    @Test("If the worker is continued in time, the app is probed again", arguments: [false, true])
    func continuedServer(isInTime: Bool) {
        var life = Self.probed(answering: nil)
        life.evidence = Evidence(state: "S", serverPause: .stopped)
        life.run(to: isInTime ? .milliseconds(16_750) - .nanosecond : .seconds(17))
        life.evidence = Evidence(state: "S")
        life.run(to: .milliseconds(16_750) + .seconds(7) - .nanosecond)
        #expect(life.decisionTimes == (isInTime ? [] : [.seconds(17)]))
        guard isInTime else { return }
        #expect(life.notices.contains(.probe(.resumed(after: .milliseconds(9_750)))))
        life.run(to: .milliseconds(16_750) + .seconds(7))
        #expect(life.decisionTimes == [.milliseconds(16_750) + .seconds(7)])
    }

    @Test("Continuing the main process does not extend a stopped worker's excuse")
    func continuedMainProcess() {
        var life = Self.probed(answering: nil)
        life.evidence = Evidence(state: "S", serverPause: .stopped)
        life.run(to: .seconds(8))
        life.tell(.stopped)
        life.at(.milliseconds(8_100), .continued)
        life.run(to: .seconds(17) - .nanosecond)
        #expect(life.transgressions.isEmpty && life.probeTimes.count == 6)
        life.run(to: .seconds(17))
        #expect(life.decisionTimes == [.seconds(17)])
    }

    @Test("A traced worker counts as held")
    func tracedServer() {
        var life = Self.probed(answering: nil)
        life.evidence = Evidence(state: "S", serverPause: .traced(by: 42))
        life.run(to: .minutes(10))
        #expect(life.transgressions.isEmpty && life.probeTimes.count == 3)
        life.evidence = Evidence(state: "S")
        life.run(to: .minutes(10) + .seconds(8))
        #expect(life.decisionTimes.count == 1)
    }

    @Test("A stopped worker does not excuse missed pings")
    func stoppedServerBesidePings() {
        var life = Timeline.pinging()
        life.evidence = Evidence(state: "S", serverPause: .stopped)
        life.run(to: .seconds(10) - .nanosecond)
        #expect(life.transgressions.isEmpty)
        life.run(to: .seconds(10))
        #expect(life.decisionTimes == [.seconds(10)])
    }

    @Test("An app that extends its allowance is not killed for failed probes before the extension ends")
    func extended() {
        var life = Self.probed(answering: nil)
        life.at(.milliseconds(2_500), .extensionRequested(by: .seconds(20), progress: "1 %"))
        life.run(to: .seconds(25) - .nanosecond)
        #expect(life.transgressions.isEmpty)
        life.run(to: .seconds(25))
        #expect(life.decisionTimes == [.seconds(25)], "the first failure after 22.5 s")
    }
}
