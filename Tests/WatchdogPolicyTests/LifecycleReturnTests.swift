// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

@Suite("The lifecycle after the supervisor or the channel was lost")
struct LifecycleReturnTests {
    private let start = Instant(nanoseconds: 1_000_000_000_000)

    /// A machine after these events, which all happen at one instant.
    private func machine(_ events: [LifecycleEvent]) -> ProcessMachine {
        var machine = ProcessMachine(spec: AppSpec(name: "App"))
        for event in [.launchRequested, .spawned(pid: 7), .lifecycle(.joined), .ready(.channel)] as [ProcessEvent] {
            _ = machine.handle(event, at: start)
        }
        for event in events { _ = machine.handle(.lifecycle(event), at: start) }
        return machine
    }

    private func returned(_ machine: ProcessMachine, after time: Duration) throws -> (ProcessMachine, [LifecycleEffect])
    {
        var machine = try #require(ProcessMachine(resuming: machine))
        let effects = machine.handle(.supervisorReturned(isLastStepDone: true), at: start + time)
        return (
            machine, effects.compactMap { if case .lifecycle(let effect) = $0 { effect } else { nil } }
        )
    }

    @Test("a state request that may have been lost is repeated under its number")
    func state() throws {
        let (machine, effects) = try returned(machine([.requested(.background)]), after: .seconds(1))
        #expect(effects == [.enter(.background, id: 1, backgroundTime: .seconds(30))])
        #expect(machine.lifecycleState == .inactive)
    }

    @Test("a suspended app stays suspended, and is frozen again")
    func suspended() throws {
        let before = machine([.requested(.suspend), .stateDone(1), .froze(locks: [])])
        #expect(before.lifecycleState == .suspended)
        let (machine, effects) = try returned(before, after: .seconds(3_600))
        #expect(effects == [.freeze])
        #expect(machine.lifecycleState == .suspended)
        #expect(machine.nextDeadline == nil)
    }

    @Test("a suspended app that was being resumed is thawed again, in case it was not")
    func resumed() throws {
        let before = machine([.requested(.suspend), .stateDone(1), .froze(locks: []), .requested(.foreground)])
        #expect(before.lifecycleState != .suspended)
        #expect(try returned(before, after: .seconds(1)).1.first == .thaw)
    }

    @Test(
        "a suspended app that exits by itself is thawed, in case it was not",
        arguments: [false, true])
    func ending(isLastStepDone: Bool) throws {
        var before = machine([.requested(.suspend), .stateDone(1)])
        _ = before.handle(.stopping, at: start)
        var machine = try #require(ProcessMachine(resuming: before))
        let effects = machine.handle(.supervisorReturned(isLastStepDone: isLastStepDone), at: start + .seconds(1))
        #expect(effects.contains(.lifecycle(.thaw)) == !isLastStepDone)
    }

    @Test("an interrupted freeze is restarted")
    func freezing() throws {
        let (machine, effects) = try returned(machine([.requested(.suspend), .stateDone(1)]), after: .seconds(9))
        #expect(effects == [.freeze])
        #expect(machine.nextDeadline == start + .seconds(10))
    }

    @Test("handlers get their time, however long no supervisor was running")
    func tasks() throws {
        let before = machine([.taskBegan(id: 1, name: "save"), .requested(.background), .stateDone(1)])
        var (machine, _) = try returned(before, after: .seconds(300))
        let effects = machine.handle(.deadlineReached, at: start + .seconds(300))
        #expect(effects.contains(.lifecycle(.expire(within: .seconds(5)))))
    }

    @Test("the run delay of tasks and the warnings already given survive")
    func measured() throws {
        var life = Timeline.inBackground(.app { $0.lifecycle.background = .seconds(60) }, tasks: 1)
        life.tell(.lifecycle(.measured(ResourceUse(cpuTime: .zero))))
        life.run(to: .seconds(40))
        life.replace(try #require(ProcessMachine(resuming: life.machine)))
        life.tell(.supervisorReturned(isLastStepDone: true))
        life.use = ResourceUse(cpuTime: .zero, runDelay: .seconds(7))
        life.run(to: .minutes(3))
        #expect(life.decisionTimes == [.seconds(67)])
        #expect(life.times(of: "(longTask)") == [.seconds(30)])
    }

    @Test("a task flood that was reported is not reported again")
    func flood() throws {
        var life = Timeline.participating(.app { ($0.enforcement, $0.lifecycle.taskLimit) = (.report, 1) })
        life.begin(1)
        life.begin(2)
        life.run(to: .seconds(1))
        #expect(life.codes == [.tooManyTasks])
        life.replace(try #require(ProcessMachine(resuming: life.machine)))
        life.tell(.supervisorReturned(isLastStepDone: true))
        life.end(2)
        life.begin(3)
        life.run(to: .seconds(2))
        #expect(life.codes == [.tooManyTasks])
    }

    @Test("an unanswered resume is measured from its request", arguments: [false, true])
    func resumeTime(isThawed: Bool) throws {
        var life = Timeline.inBackground()
        life.freezeTime = nil
        life.ask(.suspend)
        if !isThawed { life.ask(.resume, at: .milliseconds(100)) }
        if isThawed {
            life.tell(.lifecycle(.froze(locks: [])))
            life.pongTime = nil
            life.ask(.resume, at: .milliseconds(100))
        }
        life.replace(try #require(ProcessMachine(resuming: life.machine)))
        life.pongTime = .milliseconds(10)
        life.at(.milliseconds(200), .supervisorReturned(isLastStepDone: true))
        if isThawed {
            life.tell(.ponged(nonce: life.nonces[life.nonces.count - 1]))
        } else {
            life.tell(.lifecycle(.froze(locks: [])))
        }
        life.run(to: .milliseconds(300))
        #expect(life.machine.lifecycleRecord.resumes.count == 1)
        #expect(life.machine.lifecycleRecord.resumes.maximum == .milliseconds(isThawed ? 100 : 110))
    }

    @Test("an app that loses its channel drops out of the lifecycle: it receives no requests, and can be suspended")
    func channelLost() {
        var machine = machine([.taskBegan(id: 1, name: "save"), .requested(.background)])
        _ = machine.handle(.channelLost, at: start)
        #expect(machine.lifecycleRecord.takesPart == false)
        #expect(machine.lifecycleState == .background)
        let effects = machine.handle(.lifecycle(.requested(.suspend)), at: start)
        #expect(effects.contains(.lifecycle(.freeze)))
    }
}
