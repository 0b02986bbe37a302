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

    @Test("a suspended app has no deadline at all")
    func noDeadlines() {
        var life = suspended()
        #expect(life.state == .suspended)
        #expect(life.nextDeadline == nil)
        life.run(to: .minutes(10_000))
        #expect(life.incidents.isEmpty)
    }

    @Test(
        "what an app sent before it was frozen starts no allowance",
        arguments: [ProcessEvent.hello, .watchdogPinged])
    func wordsFromBefore(word: ProcessEvent) {
        var life = Timeline(.app { $0.readiness = .none })
        life.ask(.suspend)
        #expect(life.state == .suspended)
        life.tell(word)
        #expect(life.nextDeadline == nil)
    }

    @Test("a stopped app that is to leave the foreground is not hurried while it is stopped")
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

    @Test("a resume is measured to the first answer, and is no launch")
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

    @Test("after a resume the main loop has its whole allowance", arguments: [false, true])
    func allowanceAfterResume(isOver: Bool) {
        var life = suspended(.restless)
        life.pongTime = .seconds(10) + (isOver ? .nanosecond : .nanoseconds(-1))
        life.ask(.resume, at: .seconds(100))
        life.run(to: .seconds(115))
        #expect(life.decisionTimes == (isOver ? [.seconds(110)] : []))
    }

    @Test("a suspended app is ended without a word")
    func terminate() {
        var life = suspended()
        life.at(.seconds(60), .terminateRequested)
        #expect(life.effects.contains(.terminate) == false)
        #expect(life.effects.last == .killTree)
        life.run(to: .seconds(61))
        #expect(life.outcome?.cause == .killedOnRequest)
        #expect(life.incidents.isEmpty)
    }

    @Test("an app that runs in the background is asked to end, and has 5 s", arguments: [false, true])
    func terminateInBackground(isOver: Bool) {
        var life = Timeline.inBackground(.restless)
        life.at(.seconds(20), .terminateRequested)
        #expect(life.effects.contains(.terminate))
        if !isOver { life.at(.seconds(25) - .nanosecond, .exited(.exited(code: 0))) }
        life.run(to: .seconds(30))
        #expect(life.decisionTimes == (isOver ? [.seconds(25)] : []))
    }

    @Test("a lock that is held on suspension is a kill at once, naming the file")
    func heldLock() {
        var life = Timeline.inBackground()
        life.locks = [Self.lock]
        life.ask(.suspend, at: .seconds(2))
        #expect(life.decisionTimes == [.seconds(2)])
        #expect(life.codes == [.deadLock])
        #expect(life.incidents.map(\.cause) == [.lockedFiles([Self.lock])])
        #expect(life.incidents.map(\.isSuspended) == [true])
    }

    @Test("our own freezing is no excuse, a debugger is")
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

    @Test("frozen by somebody else, an allowance's clock stands still as usual")
    func frozenBySomebodyElse() {
        var life = Timeline.participating()
        life.run(to: .milliseconds(500))
        life.pongTime = nil
        life.evidence = Evidence(state: "S", isFrozen: true)
        life.run(to: .minutes(10))
        #expect(life.incidents.isEmpty)
    }

    @Test("a program that knows nothing of suspension may keep its locks")
    func outsiderWithLock() {
        var life = Timeline(.app { $0.readiness = .none })
        life.locks = [Self.lock]
        life.ask(.suspend, at: .seconds(2))
        #expect(life.incidents.isEmpty)
        #expect(life.lifecycleNotices.contains(.locksHeld([Self.lock])))
    }

    @Test("a freezer that does not answer is not waited for, and its late answer still tells of locks")
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

    @Test("a wish that comes while the freezer works is carried out when it is done")
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

    @Test("a task that was asked for too late counts when the app runs again")
    func tooLate() {
        var life = suspended()
        life.begin(1)
        #expect(life.nextDeadline == nil)
        life.ask(.resume, at: .seconds(100))
        life.run(to: .seconds(200))
        #expect(life.decisionTimes == [.seconds(130)])
    }

    @Test("a launch into the background has 5 s of CPU time", arguments: [1.0, 0.08])
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

    @Test("a launch into the background has 60 s of wall time", arguments: [false, true])
    func backgroundLaunchWall(isOver: Bool) {
        var life = Timeline(.app { $0.lifecycle.launchesInBackground = true })
        life.tell(.lifecycle(.joined))
        if !isOver { life.at(.seconds(60) - .nanosecond, .ready(.channel)) }
        life.run(to: .seconds(61))
        #expect(life.decisionTimes == (isOver ? [.seconds(60)] : []))
    }

    @Test("the last word of an app that was frozen meanwhile lets it go on")
    func lastWord() {
        var life = suspended()
        life.tell(.stopping)
        #expect(life.lifecycleEffects.last == .thaw)
        #expect(life.state == .terminating)
    }
}
