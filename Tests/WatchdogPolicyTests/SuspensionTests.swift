// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

@Suite("Suspension")
struct SuspensionTests {
    private static let lock = LockedFile(path: "/tmp/db", kind: .sqlite, isExclusive: true, process: 100)

    private func suspended(_ spec: AppSpec = AppSpec(name: "App")) -> Timeline {
        var life = Timeline.inBackground(spec)
        life.ask(.suspend)
        return life
    }

    @Test("a suspended app has no deadline")
    func noDeadlines() {
        var life = suspended()
        #expect(life.state == .suspended)
        #expect(life.nextDeadline == nil)
        life.run(to: .minutes(10_000))
        #expect(life.incidents.isEmpty)
    }

    @Test(
        "a message sent before the freeze starts no allowance",
        arguments: [ProcessEvent.hello, .watchdogPinged])
    func wordsFromBefore(word: ProcessEvent) {
        var life = Timeline(.app { $0.readiness = .none })
        life.ask(.suspend)
        #expect(life.state == .suspended)
        life.tell(word)
        #expect(life.nextDeadline == nil)
    }

    @Test("a stopped app is not killed for a late move to the background while it is stopped")
    func movedWhileStopped() {
        var life = Timeline.participating()
        (life.pongTime, life.stateTime) = (nil, nil)
        life.run(to: .seconds(1))
        life.at(.seconds(2), .stopped)
        life.evidence = Evidence(state: "T")
        life.ask(.background, at: .seconds(3))
        life.at(.seconds(60), .continued)
        life.evidence = Evidence(state: "S")
        life.run(to: .seconds(69) - .nanosecond)
        #expect(life.incidents.isEmpty)
        life.run(to: .seconds(69))
        #expect(life.decisionTimes == [.seconds(69)])
    }

    @Test("a resume is measured up to the first answer, and is not a launch")
    func resume() {
        var life = suspended()
        let launch = life.machine.launchDuration
        life.pongTime = .milliseconds(7)
        life.ask(.resume, at: .minutes(5))
        life.run(to: .minutes(5) + .milliseconds(20))
        #expect(life.state == .background)
        #expect(life.machine.lifecycleRecord.resumes.count == 1)
        #expect(life.machine.lifecycleRecord.resumes.maximum == .milliseconds(7))
        #expect(life.machine.launchDuration == launch)
    }

    @Test("a resume into the foreground ends with the answer to the state")
    func resumeIntoForeground() {
        var life = suspended()
        life.stateTime = .milliseconds(30)
        life.ask(.foreground, at: .minutes(5))
        life.run(to: .minutes(5) + .seconds(1))
        #expect(life.machine.lifecycleRecord.resumes.maximum == .milliseconds(30))
    }

    @Test("the main loop has its whole allowance after a resume", arguments: [false, true])
    func allowanceAfterResume(isOver: Bool) {
        var life = suspended(.restless)
        life.pongTime = .seconds(10) + (isOver ? .nanosecond : .nanoseconds(-1))
        life.ask(.resume, at: .seconds(100))
        life.run(to: .seconds(115))
        #expect(life.decisionTimes == (isOver ? [.seconds(110)] : []))
    }

    @Test("a suspended app is killed without a request")
    func terminate() {
        var life = suspended()
        life.at(.seconds(60), .terminateRequested)
        #expect(life.effects.contains(.terminate) == false)
        #expect(life.effects.last == .killTree)
        life.run(to: .seconds(61))
        #expect(life.outcome?.cause == .killedOnRequest)
        #expect(life.incidents.isEmpty)
    }

    @Test("an app that runs in the background is asked to exit, and has 5 s", arguments: [false, true])
    func terminateInBackground(isOver: Bool) {
        var life = Timeline.inBackground(.restless)
        life.at(.seconds(20), .terminateRequested)
        #expect(life.effects.contains(.terminate))
        if !isOver { life.at(.seconds(25) - .nanosecond, .exited(.exited(code: 0))) }
        life.run(to: .seconds(30))
        #expect(life.decisionTimes == (isOver ? [.seconds(25)] : []))
    }

    @Test("a lock held at suspension is an immediate kill that names the file")
    func heldLock() {
        var life = Timeline.inBackground()
        life.locks = [Self.lock]
        life.ask(.suspend, at: .seconds(2))
        #expect(life.decisionTimes == [.seconds(2)])
        #expect(life.codes == [.deadLock])
        #expect(life.incidents.map(\.cause) == [.lockedFiles([Self.lock])])
        #expect(life.incidents.map(\.isSuspended) == [true])
    }

    @Test("the supervisor's own freeze is no excuse; a debugger is")
    func whoseWill() {
        var life = Timeline.inBackground()
        life.locks = [Self.lock]
        life.evidence = Evidence(state: "S", isFrozen: true)
        life.ask(.suspend, at: .seconds(2))
        #expect(life.codes == [.deadLock])

        var stopped = Timeline.inBackground()
        stopped.locks = [Self.lock]
        stopped.evidence = Evidence(state: "T")
        stopped.ask(.suspend, at: .seconds(2))
        #expect(stopped.codes == [.deadLock])

        var traced = Timeline.inBackground()
        traced.locks = [Self.lock]
        traced.evidence = Evidence(state: "t", tracer: 3)
        traced.ask(.suspend, at: .seconds(2))
        traced.run(to: .seconds(100))
        #expect(traced.codes.isEmpty)
    }

    @Test("a freeze by somebody else pauses an allowance as usual")
    func frozenBySomebodyElse() {
        var life = Timeline.participating()
        life.run(to: .milliseconds(500))
        life.pongTime = nil
        life.evidence = Evidence(state: "S", isFrozen: true)
        life.run(to: .minutes(10))
        #expect(life.incidents.isEmpty)
    }

    @Test("a program that does not participate may keep its locks")
    func outsiderWithLock() {
        var life = Timeline(.app { $0.readiness = .none })
        life.locks = [Self.lock]
        life.ask(.suspend, at: .seconds(2))
        #expect(life.incidents.isEmpty)
        #expect(life.lifecycleNotices.contains(.locksHeld([Self.lock])))
    }

    @Test("a freezer that does not answer is not awaited, and its late answer still reports locks")
    func slowFreezer() {
        var life = Timeline.inBackground()
        life.freezeTime = .seconds(3)
        life.locks = [Self.lock]
        life.ask(.suspend, at: .seconds(2))
        life.run(to: .seconds(3))
        #expect(life.lifecycleNotices.contains(.suspensionIncomplete))
        #expect(life.state == .suspended)
        life.run(to: .seconds(6))
        #expect(life.codes == [.deadLock])
    }

    @Test("a request during a freeze is carried out afterwards")
    func changedMind() {
        var life = Timeline.inBackground(.restless)
        life.freezeTime = .milliseconds(50)
        life.locks = [Self.lock]
        life.ask(.suspend, at: .seconds(2))
        life.ask(.foreground, at: .milliseconds(2_010))
        life.run(to: .seconds(3))
        #expect(life.state == .foreground)
        #expect(life.incidents.isEmpty)
    }

    @Test("an event for a suspended app waits until it runs")
    func eventWhileSuspended() {
        var life = suspended()
        life.eventTime = .milliseconds(1)
        life.ask(.event(kind: "url", payload: "a"), at: .seconds(10))
        #expect(life.times(of: "deliver").isEmpty)
        life.ask(.resume, at: .seconds(20))
        #expect(life.times(of: "deliver") == [.seconds(20)])
    }

    @Test("a task requested too late counts once the app runs again")
    func tooLate() {
        var life = suspended()
        life.begin(1)
        #expect(life.nextDeadline == nil)
        life.ask(.resume, at: .seconds(100))
        life.run(to: .seconds(200))
        #expect(life.decisionTimes == [.seconds(130)])
    }

    @Test("a launch into the background may use 5 s of CPU time", arguments: [1.0, 0.08])
    func backgroundLaunch(load: Double) {
        var life = Timeline(.app { $0.lifecycle.launchesInBackground = true }, isLaunched: false)
        life.load = load
        life.tell(.launchRequested, .lifecycle(.joined))
        life.at(.seconds(59), .ready(.channel))
        #expect(life.codes == (load == 1 ? [.ateBadFood] : []))
        guard load == 1 else {
            #expect(life.state == .background)
            return
        }
        guard case .launchCPUTime(let used)? = life.incidents.first?.cause else {
            Issue.record("\(life.incidents)")
            return
        }
        #expect(used >= .seconds(5) && used < .seconds(5) + .milliseconds(50))
        #expect(life.incidents.first?.allowance == .seconds(5))
        #expect(life.incidents.first?.visibility == .background)
    }

    @Test("a launch into the background may take 60 s of wall time", arguments: [false, true])
    func backgroundLaunchWall(isOver: Bool) {
        var life = Timeline(.app { $0.lifecycle.launchesInBackground = true })
        life.tell(.lifecycle(.joined))
        if !isOver { life.at(.seconds(60) - .nanosecond, .ready(.channel)) }
        life.run(to: .seconds(61))
        #expect(life.decisionTimes == (isOver ? [.seconds(60)] : []))
    }

    @Test("STOPPING=1 from an app that was frozen meanwhile thaws it")
    func lastWord() {
        var life = suspended()
        life.tell(.stopping)
        #expect(life.lifecycleEffects.last == .thaw)
        #expect(life.state == .terminating)
    }
}
