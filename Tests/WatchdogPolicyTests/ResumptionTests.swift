// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import WatchdogBase
import WatchdogPolicy

@Suite("The supervisor's own restart")
struct ResumptionTests {
    /// The machine after saving and restoring.
    private func copy(of machine: ProcessMachine) throws -> ProcessMachine {
        let bytes = try JSONEncoder().encode(machine.saved)
        return try #require(ProcessMachine(resuming: try JSONDecoder().decode(SavedProcess.self, from: bytes)))
    }

    private func returned(_ life: inout Timeline, at time: Duration, _ waiting: ProcessEvent...) throws {
        life.replace(try copy(of: life.machine))
        life.oversleep(to: time)
        for event in waiting { life.tell(event) }
        life.tell(.supervisorReturned(isLastStepDone: true))
    }

    @Test("saves only progress for probes that succeed, and everything for each one that fails")
    func probesAreProgress() throws {
        var life = Timeline(
            .app {
                $0.readiness = .none
                $0.livenessProbe = LivenessProbe(of: "tcp:1")
            })
        life.livenessTime = .milliseconds(100)
        life.run(to: .seconds(1))
        let saved = life.machine.withoutPulse
        for tenth in 11..<200 {
            life.run(to: .milliseconds(100 * tenth + 50))
            #expect(life.machine.withoutPulse == saved)
        }
        life.livenessResult = .failed("refused")
        life.run(to: .seconds(22))
        #expect(life.machine.withoutPulse != saved)
        let failing = life.machine.withoutPulse
        life.run(to: .seconds(25))
        #expect(life.machine.withoutPulse != failing)
    }

    @Test("repeats a lost probe, however old its saved state is")
    func oldProbe() throws {
        var life = Timeline(
            .app {
                $0.readiness = .none
                $0.livenessProbe = LivenessProbe(of: "tcp:1")
            })
        life.livenessTime = .milliseconds(100)
        let saved = life.machine
        life.run(to: .seconds(30))
        let begun = life.probeTimes.count
        life.replace(try copy(of: saved))
        life.livenessTime = nil
        life.oversleep(to: .seconds(60), .supervisorReturned(isLastStepDone: true))
        life.run(to: .seconds(60))
        #expect(life.probeTimes.count == begun + 1)
        life.run(to: .seconds(69) - .nanosecond)
        #expect(life.decisionTimes == [])
        life.run(to: .seconds(69))
        #expect(life.decisionTimes == [.seconds(69)])
    }

    @Test("keeps a deadline that lies in the future")
    func exact() throws {
        var life = Timeline.pinging()
        try returned(&life, at: .seconds(9) + .milliseconds(999))
        #expect(life.nextDeadline == .seconds(10))
        life.run(to: .seconds(10) - .nanosecond)
        #expect(life.decisionTimes == [])
        life.run(to: .seconds(10))
        #expect(life.decisionTimes == [.seconds(10)])
        #expect(life.incidents.map(\.rebases) == [0])
    }

    @Test("asks again only if the deadline has passed at the instant of return")
    func boundary() throws {
        var early = Timeline.pinging()
        try returned(&early, at: .seconds(10) - .nanosecond)
        #expect(early.pingTimes == [.zero])
        var punctual = Timeline.pinging()
        try returned(&punctual, at: .seconds(10))
        #expect(punctual.pingTimes == [.zero, .seconds(10)])
        #expect(punctual.nextDeadline == .milliseconds(10_250))
    }

    @Test("asks again, with at most the time that an answer may take", arguments: [249, 250, 251])
    func shortAllowance(milliseconds: Int) throws {
        var life = Timeline.pinging(.app { $0.allowances.update = .milliseconds(milliseconds) })
        try returned(&life, at: .seconds(12))
        #expect(life.nextDeadline == .seconds(12) + .milliseconds(min(milliseconds, 250)))
    }

    @Test("asks an app again only if it answers pings, and examines one that pushes")
    func pushing() throws {
        var life = Timeline.pushing()
        let pulse = try #require(life.machine.pulse)
        life.replace(try #require(ProcessMachine(resuming: life.machine, pulse: pulse)))
        life.oversleep(to: .seconds(12), .supervisorReturned(isLastStepDone: true))
        #expect(life.pingTimes == [])
        #expect(life.decisionTimes == [.seconds(12)])
    }

    @Test("keeps an extension granted between two pings, and its token")
    func extensions() throws {
        var life = Timeline.pinging()
        life.at(.milliseconds(1), .ponged(nonce: life.nonces[0]))
        life.at(.milliseconds(500), .extensionRequested(by: .seconds(60), progress: "1 %"))
        try returned(&life, at: .milliseconds(600))
        life.tell(.extensionRequested(by: .seconds(120), progress: "1 %"))
        #expect(life.notices.last == .extensionRefused(.noProgress))
        life.run(to: .milliseconds(60_500) - .nanosecond)
        #expect(life.decisionTimes == [])
        life.run(to: .milliseconds(60_500))
        #expect(life.decisionTimes == [.milliseconds(60_500)])
    }

    @Test("remembers that an app has sent a message, and does not assume it ready")
    func spoken() throws {
        var life = Timeline()
        life.at(.seconds(1), .notified)
        try returned(&life, at: .seconds(2))
        #expect(life.machine.hasSpoken)
        life.run(to: .seconds(20))
        #expect(life.decisionTimes == [.seconds(20)])
    }

    @Test("sends no readiness probe before it is due")
    func readinessProbe() throws {
        var life = Timeline(.app { $0.readiness = .listening })
        life.run(to: .zero)
        life.at(.milliseconds(1), .probed(isReady: false))
        let count = life.effects.filter { $0 == .probe }.count
        try returned(&life, at: .milliseconds(2))
        #expect(life.effects.filter { $0 == .probe }.count == count)
        life.run(to: .milliseconds(6))
        #expect(life.effects.filter { $0 == .probe }.count == count + 1)
        try returned(&life, at: .milliseconds(7))
        #expect(life.effects.filter { $0 == .probe }.count == count + 2, "the answer may be lost")
    }

    @Test("examines again under a new id, so that an answer to the old one decides nothing")
    func newNumber() throws {
        var life = Timeline(.app { $0.readiness = .notify })
        life.evidence = nil
        life.run(to: .seconds(20))
        let former = life.examination
        try returned(&life, at: .milliseconds(20_100))
        life.tell(.inspected(id: former, Evidence(state: "S")))
        #expect(life.decisionTimes == [])
        life.tell(life.inspected(Evidence(state: "S")))
        #expect(life.decisionTimes == [.milliseconds(20_100)])
    }

    @Test("gives a tree that survives SIGKILL its full budget")
    func deathBudget() throws {
        var life = Timeline.pinging(.app { ($0.captureBudget, $0.deathBudget) = (.seconds(1), .seconds(3)) })
        (life.captureTime, life.deathTime) = (.zero, nil)
        life.run(to: .seconds(10))
        try returned(&life, at: .seconds(11))
        life.run(to: .seconds(14) - .nanosecond)
        #expect(life.time(of: .unkillable) == nil)
        life.run(to: .seconds(14))
        #expect(life.time(of: .unkillable) == .seconds(14))
    }

    @Test("keeps the start of an excused stop")
    func stopped() throws {
        var life = Timeline(
            .app {
                $0.readiness = .none
                $0.livenessProbe = LivenessProbe(of: "tcp:1", timeout: .seconds(1))
            })
        life.livenessTime = nil
        life.evidence = Evidence(state: "T")
        life.at(.milliseconds(100), .stopped)
        try returned(&life, at: .milliseconds(200))
        life.run(to: .milliseconds(10_100) - .nanosecond)
        #expect(life.decisionTimes == [])
        life.run(to: .milliseconds(10_100))
        #expect(life.decisionTimes == [.milliseconds(10_100)])
    }

    @Test("gives a repeated capture its full budget")
    func captureBudget() throws {
        var life = Timeline.pinging()
        life.captureTime = nil
        life.run(to: .seconds(10))
        try returned(&life, at: .seconds(11))
        life.run(to: .seconds(13) - .nanosecond)
        #expect(!life.notices.contains(.captureTimedOut))
        life.run(to: .seconds(13))
        #expect(life.time(of: .captureTimedOut) == .seconds(13))
    }

    @Test("remembers two termination requests during a capture, and the number of the incident")
    func capturingOnly() throws {
        var life = Timeline.pinging(.reporting)
        life.captureTime = nil
        life.run(to: .seconds(10))
        var killed = life
        killed.tell(.terminateRequested, .terminateRequested)
        killed.captureTime = .milliseconds(3)
        try returned(&killed, at: .seconds(11))
        killed.run(to: .seconds(12))
        #expect(killed.outcome?.cause == .killedOnRequest)
        life.captureTime = .milliseconds(3)
        try returned(&life, at: .seconds(11))
        life.at(.seconds(12), .ponged(nonce: life.nonces[0]))
        life.run(to: .minutes(1))
        #expect(life.reports.map(\.id) == [1, 2])
    }

    @Test("counts an answer that was queued, and records no hang")
    func waitingAnswer() throws {
        var life = Timeline.pinging()
        try returned(&life, at: .seconds(12), .ponged(nonce: life.nonces[0]))
        life.run(to: .seconds(12))
        #expect(life.decisionTimes == [])
        #expect(life.machine.hangs.count == 0)
        #expect(life.pingTimes == [.zero, .seconds(12)])
        #expect(life.nextDeadline == .seconds(22))
    }

    @Test("asks again if the deadline passed meanwhile, and an answer in time spares the app")
    func askedAgain() throws {
        var life = Timeline.pinging()
        try returned(&life, at: .seconds(12))
        #expect(life.pingTimes == [.zero, .seconds(12)])
        life.at(.seconds(12) + .milliseconds(250), .ponged(nonce: life.nonces[1]))
        life.run(to: .seconds(14))
        #expect(life.decisionTimes == [])
    }

    @Test("kills an app that does not answer this time, without a second allowance")
    func notAnswered() throws {
        var life = Timeline.pinging()
        try returned(&life, at: .seconds(12))
        life.run(to: .seconds(12) + .milliseconds(250))
        #expect(life.decisionTimes == [.seconds(12) + .milliseconds(250)])
        #expect(life.incidents.map(\.rebases) == [0])
    }

    @Test("immediately examines an app whose launch deadline passed while no supervisor was running")
    func launching() throws {
        var life = Timeline(.app { $0.readiness = .notify })
        try returned(&life, at: .seconds(21))
        #expect(life.decisionTimes == [.seconds(21)])
        var ready = Timeline(.app { $0.readiness = .notify })
        try returned(&ready, at: .seconds(21), .ready(.notify))
        ready.run(to: .seconds(60))
        #expect(ready.decisionTimes == [])
    }

    @Test("assumes an app that says nothing to be ready, although its launch allowance ran out while nobody ran")
    func silent() throws {
        var life = Timeline()
        try returned(&life, at: .seconds(21))
        life.run(to: .seconds(22) - .nanosecond)
        #expect(life.machine.phase == .launching)
        life.run(to: .seconds(22))
        #expect(life.machine.readinessSource == .assumed)
        #expect(life.decisionTimes == [])
    }

    @Test("takes the stacks again when the capture was lost, and closes the incident by one report")
    func capturing() throws {
        var life = Timeline.pinging()
        life.captureTime = nil
        life.run(to: .seconds(10))
        #expect(life.decisionTimes == [.seconds(10)])
        life.captureTime = .milliseconds(3)
        try returned(&life, at: .seconds(11))
        life.run(to: .seconds(12))
        #expect(life.decisionTimes == [.seconds(10)])
        #expect(life.reports.map(\.id) == [1])
        #expect(life.outcome?.isDeathVerified == true)
    }

    @Test("repeats a kill")
    func dying() throws {
        var life = Timeline.pinging()
        life.deathTime = nil
        life.run(to: .seconds(10) + .milliseconds(3))
        life.deathTime = .milliseconds(1)
        try returned(&life, at: .seconds(60))
        life.run(to: .seconds(61))
        #expect(life.outcome?.isDeathVerified == true)
        #expect(life.reports.count == 1)
    }

    @Test("repeats the termination request only if it may have been lost")
    func terminating() throws {
        var life = Timeline.pinging()
        life.at(.milliseconds(100), .terminateRequested)
        try returned(&life, at: .seconds(1))
        #expect(life.effects.filter { $0 == .terminate }.count == 1)
        life.tell(.supervisorReturned(isLastStepDone: false))
        #expect(life.effects.filter { $0 == .terminate }.count == 2)
        #expect(life.nextDeadline == .milliseconds(5_100))
    }

    @Test("does not kill an adopted app for silence, and watches it once it answers")
    func adopted() {
        var silent = Timeline(isLaunched: false)
        silent.tell(.adopted(pid: 7))
        #expect(silent.machine.hasSpoken, "what it said before is lost")
        silent.run(to: .minutes(10))
        #expect(silent.machine.phase == .running)
        #expect(silent.decisionTimes == [])
        var speaking = Timeline(isLaunched: false)
        speaking.tell(.adopted(pid: 7))
        speaking.at(.seconds(3), .ponged(nonce: speaking.nonces[0]))
        speaking.run(to: .minutes(10))
        #expect(speaking.decisionTimes == [.seconds(13)])
    }

    @Test("measures answers again")
    func measuredAgain() throws {
        var life = Timeline.pinging()
        life.at(.milliseconds(1), .ponged(nonce: life.nonces[0]))
        try returned(&life, at: .milliseconds(500))
        life.pongTime = .milliseconds(2)
        life.run(to: .milliseconds(1_002))
        #expect(life.machine.pings.maximum == .milliseconds(2))
    }

    @Test("neither asks nor kills an app whose channel is lost")
    func channelLost() throws {
        var life = Timeline.pinging()
        life.replace(try copy(of: life.machine))
        life.oversleep(to: .seconds(11), .channelLost, .supervisorReturned(isLastStepDone: true))
        life.run(to: .minutes(10))
        #expect(life.decisionTimes == [])
        #expect(life.notices.contains(.channelLost))
        #expect(life.machine.phase == .running)
    }

    @Test("saves only the pulse of a healthy app")
    func pulse() throws {
        var life = Timeline.pinging()
        life.run(to: .zero)
        life.pongTime = .milliseconds(2)
        life.tell(.ponged(nonce: life.nonces[0]))
        let saved = life.machine
        life.run(to: .seconds(60) + .milliseconds(1))
        #expect(life.machine.withoutPulse == saved.withoutPulse)
        let pulse = try #require(life.machine.pulse)
        let resumed = try #require(ProcessMachine(resuming: saved, pulse: pulse))
        #expect(resumed.nextDeadline == life.machine.nextDeadline)
        #expect(resumed.pulse == pulse)
        life.tell(.stopped)
        #expect(life.machine.pulse == nil)
    }

    @Test("rejects a machine with an interval that is not positive")
    func implausible() throws {
        let bytes = try JSONEncoder().encode(ProcessMachine(spec: AppSpec(name: "App")).saved)
        let text = String(decoding: bytes, as: UTF8.self)
        let interval = String(decoding: try JSONEncoder().encode(Duration.seconds(1)), as: UTF8.self)
        let zero = String(decoding: try JSONEncoder().encode(Duration.zero), as: UTF8.self)
        let changed = text.replacing("\"pingInterval\":\(interval)", with: "\"pingInterval\":\(zero)")
        #expect(changed != text)
        let saved = try JSONDecoder().decode(SavedProcess.self, from: Data(changed.utf8))
        #expect(ProcessMachine(resuming: saved) == nil)
    }
}
