// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogPolicy

@Suite("From the decision to the exit")
struct DeathTests {
    private let killed = ExitStatus.signaled(signal: 9, coreDumped: false)

    /// The first ping is missed at 10 s.
    private func hung(_ change: (inout Timeline) -> Void) -> Timeline {
        var life = Timeline.pinging()
        change(&life)
        life.run(to: .seconds(10))
        return life
    }

    @Test("stacks, kill, death and report come in this order, with nothing after them")
    func order() throws {
        var life = hung { _ in }
        life.run(to: .minutes(1))
        let incident = try #require(life.reports.first)
        #expect(
            life.effects.suffix(6)
                == [
                    .announce(.transgressed(life.incidents[0])), .capture(life.incidents[0]), .killTree,
                    .announce(.exited(killed)), .report(incident),
                    .finish(Outcome(cause: .watchdog(incident), status: killed, isDeathVerified: true)),
                ])
        #expect(life.machine.incidents == [incident])
        #expect(!life.machine.isInIncident)
    }

    @Test(
        "a capture that ends within its budget is awaited",
        arguments: [Duration.zero, .seconds(2) - .nanosecond, .seconds(2)])
    func captureInTime(_ time: Duration) {
        var life = hung { $0.captureTime = time }
        life.run(to: .seconds(10) + time)
        #expect(life.effects.contains(.killTree))
        #expect(!life.notices.contains(.captureTimedOut))
    }

    @Test(
        "a capture that exceeds its budget is abandoned, to the nanosecond",
        arguments: [nil, Duration.seconds(2) + .nanosecond])
    func captureTooLate(_ time: Duration?) {
        var life = hung { $0.captureTime = time }
        life.run(to: .seconds(12) - .nanosecond)
        #expect(!life.effects.contains(.killTree))
        life.run(to: .seconds(12))
        #expect(life.notices.last == .captureTimedOut)
        #expect(life.effects.last == .killTree)
        life.run(to: .minutes(1))
        #expect(life.reports.map(\.isDeathVerified) == [true])
    }

    @Test("a tree that dies within the budget is a verified death", arguments: [Duration.zero, .seconds(2)])
    func deathInTime(_ time: Duration) {
        var life = hung {
            $0.captureTime = .zero
            $0.deathTime = time
        }
        life.run(to: .seconds(10) + time)
        #expect(life.outcome?.isDeathVerified == true)
    }

    @Test(
        "a tree that outlives the budget is reported as unkillable, to the nanosecond",
        arguments: [nil, Duration.seconds(2) + .nanosecond])
    func deathTooLate(_ time: Duration?) {
        var life = hung {
            $0.captureTime = .zero
            $0.deathTime = time
        }
        life.run(to: .seconds(12) - .nanosecond)
        // A timer that fires early.
        life.tell(.deadlineReached)
        #expect(life.outcome == nil)
        life.run(to: .seconds(12))
        #expect(life.notices.last == .unkillable)
        #expect(life.outcome?.isDeathVerified == false)
        #expect(life.outcome?.status == nil)
        #expect(life.reports.map(\.isDeathVerified) == [false])
        let count = life.log.count
        life.tell(.exited(killed), .treeEmptied, .terminateRequested, .launchRequested)
        life.run(to: .minutes(1))
        #expect(life.log.count == count)
    }

    @Test("children that outlive the app are asked to exit and awaited")
    func orphans() {
        var life = Timeline.pinging()
        life.at(.seconds(1), .exited(.exited(code: 3)))
        #expect(life.machine.phase == .dying)
        #expect(life.effects.last == .terminateTree)
        life.run(to: .milliseconds(1_001))
        #expect(life.machine.nextDeadline == nil)
        #expect(!life.effects.contains(.killTree))
        #expect(life.outcome == Outcome(cause: .exited, status: .exited(code: 3), isDeathVerified: true))
    }

    @Test("children that exit just within the allowance are not killed", arguments: [Duration.nanosecond, .zero])
    func orphansInTime(_ rest: Duration) {
        var life = Timeline.pinging()
        life.leftoverTime = .seconds(5) - rest
        life.at(.seconds(1), .exited(.exited(code: 3)))
        life.run(to: .minutes(1))
        #expect(!life.effects.contains(.killTree))
        #expect(life.log.last?.at == .seconds(6) - rest)
        #expect(life.outcome == Outcome(cause: .exited, status: .exited(code: 3), isDeathVerified: true))
    }

    @Test(
        "children that exceed the allowance are killed, to the nanosecond",
        arguments: [nil, Duration.seconds(5) + .nanosecond])
    func orphansTooLate(_ time: Duration?) {
        var life = Timeline.pinging()
        life.leftoverTime = time
        life.at(.seconds(1), .exited(.exited(code: 3)))
        life.run(to: .seconds(6) - .nanosecond)
        #expect(!life.effects.contains(.killTree))
        life.run(to: .seconds(6))
        #expect(life.effects.last == .killTree)
        life.run(to: .minutes(1))
        #expect(life.outcome == Outcome(cause: .exited, status: .exited(code: 3), isDeathVerified: true))
        #expect(life.reports == [])
    }

    @Test("children of a terminated app are asked to exit too, and another request kills them immediately")
    func orphansOnRequest() {
        var life = Timeline.pinging()
        life.leftoverTime = nil
        life.at(.seconds(1), .terminateRequested)
        life.at(.seconds(2), .exited(.exited(code: 3)))
        #expect(life.effects.last == .terminateTree)
        #expect(life.nextDeadline == .seconds(7))
        life.at(.seconds(3), .terminateRequested)
        #expect(life.effects.last == .killTree)
        life.run(to: .minutes(1))
        #expect(life.outcome == Outcome(cause: .terminated, status: .exited(code: 3), isDeathVerified: true))
    }

    @Test("an incident kills the children immediately, even if the app exits before it is killed")
    func orphansOfAHang() {
        let life = hung {
            $0.captureTime = .milliseconds(3)
            $0.leftoverTime = nil
        }
        var killed = life
        killed.tell(.exited(.exited(code: 1)))
        killed.run(to: .minutes(1))
        #expect(!killed.effects.contains(.terminateTree))
        #expect(killed.outcome?.isDeathVerified == true)
    }

    @Test("a resumed supervisor signals the children again but does not extend their time")
    func orphansOfASupervisor() throws {
        var life = Timeline.pinging()
        life.leftoverTime = nil
        life.at(.seconds(1), .exited(.exited(code: 3)))
        life.replace(try #require(ProcessMachine(resuming: life.machine)))
        life.at(.seconds(3), .supervisorReturned(isLastStepDone: true))
        #expect(life.effects.suffix(2) == [.terminateTree, .terminateTree])
        #expect(life.nextDeadline == .seconds(6))
        life.run(to: .minutes(1))
        #expect(life.outcome == Outcome(cause: .exited, status: .exited(code: 3), isDeathVerified: true))
    }

    /// An app whose children, asked at 1 s, have until 6 s.
    private func orphaned(_ evidence: Evidence?) -> Timeline {
        var life = Timeline.pinging()
        life.leftoverTime = nil
        life.evidence = evidence
        life.at(.seconds(1), .exited(.exited(code: 3)))
        return life
    }

    private func isKilled(_ life: Timeline, at time: Duration) -> Bool {
        var life = life
        life.run(to: time - .nanosecond)
        guard !life.effects.contains(.killTree) else { return false }
        life.run(to: time)
        return life.effects.last == .killTree
    }

    @Test("children that somebody froze are not killed, and have their allowance again when they run")
    func frozenOrphans() {
        var life = orphaned(Evidence(state: nil, isFrozen: true))
        life.run(to: .minutes(1))
        #expect(!life.effects.contains(.killTree))
        #expect(life.time(of: .paused(.frozen)) == .seconds(6))
        life.evidence = Evidence(state: nil)
        life.run(to: .seconds(60.25))
        #expect(life.notices.last == .resumed(after: .seconds(54.25)))
        #expect(isKilled(life, at: .seconds(65.25)))
    }

    @Test("children that somebody froze are killed on request")
    func frozenOrphansOnRequest() {
        var life = orphaned(Evidence(state: nil, isFrozen: true))
        life.at(.seconds(10), .terminateRequested)
        #expect(life.effects.last == .killTree)
    }

    @Test("children that are stopped were continued when they were asked, and are killed")
    func stoppedOrphans() {
        #expect(isKilled(orphaned(Evidence(state: "T")), at: .seconds(6)))
    }

    @Test("children of whom nothing can be found out are killed when that took too long")
    func unexaminedOrphans() {
        #expect(isKilled(orphaned(nil), at: .seconds(6.25)))
    }

    @Test(
        "children get back what the supervisor overslept, unless it is a moment",
        arguments: [(Duration.milliseconds(100), Duration.zero), (.milliseconds(101), .milliseconds(101))])
    func oversleptOrphans(_ lateness: Duration, _ gain: Duration) {
        var life = orphaned(Evidence(state: nil))
        life.oversleep(to: .seconds(6) + lateness, .deadlineReached)
        #expect(life.effects.contains(.killTree) == (gain == .zero))
        if gain > .zero { #expect(isKilled(life, at: .seconds(6) + lateness + gain)) }
    }

    @Test("children have their allowance again after a suspension of the machine")
    func suspendedOrphans() {
        var life = orphaned(Evidence(state: nil))
        life.at(.seconds(6) - .nanosecond, .machineResumed(suspension: .seconds(100)))
        #expect(isKilled(life, at: .seconds(11) - .nanosecond))
    }

    @Test("an answer about children that are killed changes nothing")
    func lateEvidence() {
        var life = orphaned(nil)
        life.deathTime = nil
        life.run(to: .seconds(6.25))
        let count = life.log.count
        life.tell(life.inspected(Evidence(state: nil, isFrozen: true)), .machineResumed(suspension: .seconds(9)))
        #expect(life.log.count == count)
        #expect(life.nextDeadline == .seconds(8.25))
    }

    @Test("a supervisor that returns examines frozen children again")
    func frozenOrphansOfASupervisor() throws {
        var life = orphaned(Evidence(state: nil, isFrozen: true))
        life.run(to: .seconds(7))
        life.replace(try #require(ProcessMachine(resuming: life.machine)))
        life.oversleep(to: .seconds(20), .supervisorReturned(isLastStepDone: true))
        life.run(to: .minutes(1))
        #expect(!life.effects.contains(.killTree))
        life.evidence = Evidence(state: nil)
        life.run(to: .seconds(60.25))
        #expect(isKilled(life, at: .seconds(65.25)))
    }

    @Test("children that cannot be killed make the death unverified")
    func survivors() {
        var life = Timeline.pinging()
        (life.leftoverTime, life.deathTime) = (nil, nil)
        life.at(.seconds(1), .exited(.exited(code: 3)))
        life.run(to: .minutes(1))
        #expect(life.notices.last == .unkillable)
        #expect(life.outcome == Outcome(cause: .exited, status: .exited(code: 3), isDeathVerified: false))
    }

    @Test("an empty tree counts only after the main process has exited")
    func emptyBeforeExit() {
        var life = Timeline.pinging()
        life.leftoverTime = nil
        life.at(.seconds(1), .treeEmptied)
        life.at(.seconds(2), .exited(.exited(code: 0)))
        #expect(life.outcome == nil)
        life.tell(.treeEmptied)
        #expect(life.outcome?.isDeathVerified == true)
    }

    @Test("an exit during the capture does not undo the incident, and the first status counts")
    func exitDuringCapture() {
        var life = hung { $0.deathTime = nil }
        life.tell(.exited(.exited(code: 1)), .exited(killed), .treeEmptied)
        life.run(to: .seconds(11))
        #expect(life.notices.filter { $0 == .exited(.exited(code: 1)) }.count == 1)
        #expect(life.outcome?.status == .exited(code: 1))
        #expect(life.outcome?.isDeathVerified == true)
        #expect(life.reports.count == 1)
    }

    @Test("an exit during the examination ends the launch without an incident")
    func exitDuringExamination() {
        var life = hung { $0.inspectionTime = .milliseconds(100) }
        life.tell(.exited(.exited(code: 0)))
        life.run(to: .minutes(1))
        #expect(life.incidents == [])
        #expect(life.outcome?.cause == .exited)
    }

    @Test("messages from a condemned app are ignored")
    func condemned() throws {
        var life = hung { _ in }
        let count = life.log.count
        life.tell(
            .ponged(nonce: life.nonces[0]), .hello, .ready(.channel), .watchdogPinged, .watchdogTriggered, .stopped,
            .continued, .machineResumed(suspension: .seconds(1)), .terminateRequested, .stopping,
            .extensionRequested(by: .seconds(60), progress: "1"), life.inspected(Evidence(state: "R")))
        #expect(life.log.count == count)
        #expect(life.machine.phase == .capturing(life.incidents[0]))
    }

    @Test("the incident is open from the decision to the report")
    func openIncident() {
        var life = Timeline.pinging()
        life.run(to: .seconds(10) - .nanosecond)
        #expect(!life.machine.isInIncident)
        life.run(to: .seconds(10))
        #expect(life.machine.isInIncident)
        life.run(to: .milliseconds(10_003))
        #expect(life.machine.phase == .dying)
        #expect(life.machine.isInIncident)
        life.run(to: .milliseconds(10_004))
        #expect(!life.machine.isInIncident)
    }
}
