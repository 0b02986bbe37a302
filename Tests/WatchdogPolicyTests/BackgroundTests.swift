// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

/// The rules of background tasks on iOS.
@Suite("Background tasks")
struct BackgroundTests {
    @Test("a task in the foreground has no deadline, however old it is")
    func foregroundTask() {
        var life = Timeline.participating()
        life.begin(1)
        life.run(to: .minutes(10))
        #expect(life.incidents.isEmpty)
        #expect(life.lifecycleEffects.isEmpty)
    }

    @Test(
        "an app whose task is still open when the background time is over is killed",
        arguments: [false, true])
    func openTask(isOver: Bool) {
        var life = Timeline.inBackground(tasks: 1)
        if !isOver { life.at(.seconds(30) - .nanosecond, .lifecycle(.taskEnded(id: 1))) }
        life.run(to: .seconds(40))
        #expect(life.decisionTimes == (isOver ? [.seconds(30)] : []))
        #expect(life.codes == (isOver ? [.backgroundTask] : []))
    }

    @Test("the clock starts when the app enters the background, not when the task begins")
    func clockStart() {
        var life = Timeline.participating()
        life.begin(1)
        life.stateTime = .seconds(2)
        life.ask(.background, at: .seconds(20))
        life.run(to: .seconds(60))
        #expect(life.decisionTimes == [.seconds(52)])
    }

    @Test("all tasks share one clock: a second task adds no time")
    func oneClock() {
        var life = Timeline.inBackground(tasks: 1)
        life.at(.seconds(15), .lifecycle(.taskBegan(id: 2, name: "second")))
        life.at(.seconds(20), .lifecycle(.taskEnded(id: 1)))
        life.run(to: .seconds(60))
        #expect(life.decisionTimes == [.seconds(30)])
        guard case .backgroundTasks(let tasks, isMachineBusy: false)? = life.incidents.first?.cause else {
            Issue.record("\(life.incidents)")
            return
        }
        #expect(tasks.map(\.name) == ["second"])
    }

    @Test("each task ends separately, and the app is suspended after the last one")
    func eachEndsByItself() {
        var life = Timeline.inBackground(tasks: 2)
        life.at(.seconds(10), .lifecycle(.taskEnded(id: 1)))
        life.run(to: .seconds(19))
        #expect(life.state == .background)
        life.at(.seconds(20), .lifecycle(.taskEnded(id: 2)))
        life.run(to: .seconds(25))
        #expect(life.state == .suspended)
        #expect(life.times(of: "freeze") == [.seconds(25)])
        #expect(life.times(of: "expire").isEmpty)
    }

    @Test(
        "expiration handlers run 5 s before the end, and tasks that they end in time cause no kill",
        arguments: [false, true])
    func handlers(isOver: Bool) {
        var life = Timeline.inBackground(tasks: 3)
        life.handlerTime = .seconds(5) + (isOver ? .nanosecond : .nanoseconds(-1))
        life.run(to: .seconds(60))
        #expect(life.times(of: "expire") == [.seconds(25)])
        #expect(life.decisionTimes == (isOver ? [.seconds(30)] : []))
        #expect(life.state == (isOver ? .notRunning : .suspended))
    }

    @Test("an app whose handlers are done is suspended immediately")
    func handlersAreDone() {
        var life = Timeline.inBackground(tasks: 1)
        life.handlerTime = .milliseconds(200)
        life.run(to: .seconds(60))
        #expect(life.times(of: "freeze") == [.milliseconds(25_200)])
    }

    @Test("expiration comes early if a suspension is requested", arguments: [false, true])
    func earlyExpiry(isOver: Bool) {
        var life = Timeline.inBackground(tasks: 1)
        life.handlerTime = isOver ? nil : .seconds(1)
        life.ask(.suspend, at: .seconds(3))
        life.run(to: .seconds(60))
        #expect(life.times(of: "expire") == [.seconds(3)])
        #expect(life.times(of: "freeze") == (isOver ? [] : [.seconds(4)]))
        #expect(life.decisionTimes == (isOver ? [.seconds(8)] : []))
    }

    @Test("a task that begins after the time is used up must end within seconds", arguments: [false, true])
    func lateTask(isOver: Bool) {
        var life = Timeline.inBackground(.restless)
        life.at(.seconds(100), .lifecycle(.taskBegan(id: 1, name: "late")))
        #expect(life.times(of: "expire") == [.seconds(100)])
        if !isOver { life.at(.seconds(105) - .nanosecond, .lifecycle(.taskEnded(id: 1))) }
        life.run(to: .seconds(130))
        #expect(life.decisionTimes == (isOver ? [.seconds(105)] : []))
    }

    @Test("a chain of tasks gets no extra time")
    func turns() {
        var life = Timeline.inBackground(tasks: 1)
        for index in 1..<40 {
            let id = UInt64(index)
            life.at(.seconds(index), .lifecycle(.taskBegan(id: id + 1, name: "next")), .lifecycle(.taskEnded(id: id)))
        }
        #expect(life.decisionTimes == [.seconds(30)])
    }

    @Test("a return to the foreground stops the clock, and the next stay starts a new one")
    func nextStay() {
        var life = Timeline.inBackground(tasks: 1)
        life.ask(.foreground, at: .seconds(24))
        life.run(to: .seconds(100))
        #expect(life.incidents.isEmpty)
        life.ask(.background)
        life.run(to: .seconds(200))
        #expect(life.decisionTimes == [.seconds(130)])
    }

    @Test("the incident names the open tasks and their start times")
    func namesTasks() {
        var life = Timeline.participating()
        life.at(.seconds(3), .lifecycle(.taskBegan(id: 9, name: "Saving library")))
        life.stateTime = .zero
        life.ask(.background, at: .seconds(5))
        life.run(to: .seconds(60))
        guard case .backgroundTasks(let tasks, _)? = life.incidents.first?.cause else {
            Issue.record("\(life.incidents)")
            return
        }
        #expect(tasks.map(\.id) == [9])
        #expect(tasks.map(\.name) == ["Saving library"])
        #expect(life.incidents.map { $0.decidedAt - tasks[0].begunAt } == [.seconds(32)])
        #expect(life.incidents.map(\.allowance) == [.seconds(30)])
        #expect(life.incidents.map(\.event) == [.backgroundTask])
    }

    @Test("an app may have a thousand open tasks; one more is a kill", arguments: [1_000, 1_001])
    func taskFlood(count: Int) {
        var life = Timeline.participating()
        for id in 1...count { life.begin(UInt64(id)) }
        life.run(to: .seconds(1))
        #expect(life.codes == (count > 1_000 ? [.tooManyTasks] : []))
        #expect(count == 1_000 || life.decisionTimes == [.zero])
    }

    @Test("a task that is 30 s old is reported once, in the foreground too", arguments: [false, true])
    func longTask(isOver: Bool) {
        var life = Timeline.participating()
        life.begin(1)
        if !isOver { life.at(.seconds(30) - .nanosecond, .lifecycle(.taskEnded(id: 1))) }
        life.run(to: .minutes(5))
        #expect(life.log.filter { $0.effect.summary == "(longTask)" }.map(\.at) == (isOver ? [.seconds(30)] : []))
    }

    @Test("an idle app is suspended after five seconds, which an event restarts")
    func idle() {
        var life = Timeline.inBackground()
        life.eventTime = .seconds(1)
        life.ask(.event(kind: "push", payload: ""), at: .seconds(3))
        life.run(to: .seconds(60))
        #expect(life.times(of: "freeze") == [.seconds(9)])
    }

    @Test("an app that is moved to the background again is suspended five seconds later")
    func askedAgain() {
        var life = Timeline.inBackground()
        life.ask(.background, at: .seconds(3))
        life.run(to: .seconds(60))
        #expect(life.times(of: "freeze") == [.seconds(8)])
    }

    @Test("an event that is handled first does not reduce the time for a state", arguments: [false, true])
    func eventBesideState(isHandled: Bool) {
        var life = Timeline.participating()
        life.stateTime = nil
        life.run(to: .milliseconds(500))
        life.ask(.event(kind: "push", payload: ""))
        life.at(.milliseconds(600), .lifecycle(.eventDone(1)))
        life.ask(.background, at: .seconds(1) - .milliseconds(100))
        life.ask(.event(kind: "push", payload: ""))
        if isHandled { life.at(.seconds(3), .lifecycle(.eventDone(2))) }
        life.run(to: .seconds(60))
        #expect(life.decisionTimes == [.milliseconds(5_900)])
    }

    @Test("an app that was stopped or starved is not killed for its tasks")
    func fairness() {
        var traced = Timeline.inBackground(tasks: 1)
        traced.evidence = Evidence(state: "t", tracer: 9)
        traced.run(to: .minutes(10))
        #expect(traced.incidents.isEmpty)
        traced.evidence = Evidence(state: "S")
        traced.run(to: .minutes(11))
        #expect(traced.decisionTimes.count == 1)

        var starved = Timeline.inBackground(tasks: 1)
        starved.tell(.lifecycle(.measured(ResourceUse(cpuTime: .zero))))
        starved.use = ResourceUse(cpuTime: .zero, runDelay: .seconds(4))
        starved.run(to: .minutes(2))
        #expect(starved.decisionTimes == [.seconds(34)])
        #expect(starved.codes == [.backgroundTask])
    }

    @Test(
        "an app that was held when the time ran out gets the handlers' time, not another stay",
        arguments: [false, true])
    func held(isOver: Bool) {
        var life = Timeline.inBackground(tasks: 1)
        life.evidence = Evidence(state: "t", tracer: 9)
        life.run(to: .seconds(40) - .nanosecond)
        life.evidence = Evidence(state: "S")
        life.run(to: .seconds(40))
        if !isOver { life.at(.seconds(45) - .nanosecond, .lifecycle(.taskEnded(id: 1))) }
        life.run(to: .seconds(60))
        #expect(life.decisionTimes == (isOver ? [.seconds(45)] : []))
    }

    @Test("an app is told how much time it gets as credit for starvation")
    func toldOfCredit() {
        var life = Timeline.inBackground(tasks: 1)
        life.tell(.lifecycle(.measured(ResourceUse(cpuTime: .zero))))
        life.use = ResourceUse(cpuTime: .zero, runDelay: .seconds(4))
        life.run(to: .seconds(30))
        #expect(life.lifecycleEffects.last == .grant(.seconds(4)))
    }

    @Test("the last task that ends under a debugger ends the reported pause")
    func endsUnderDebugger() {
        var life = Timeline.inBackground(tasks: 1)
        life.evidence = Evidence(state: "t", tracer: 9)
        life.run(to: .seconds(31))
        #expect(life.time(of: .paused(.traced(by: 9))) == .seconds(30))
        life.end(1)
        #expect(life.time(of: .resumed(after: .seconds(1))) == .seconds(31))
    }

    @Test("an app that the machine starved is killed under a different code, after all credit")
    func machineBusy() {
        var life = Timeline.inBackground(tasks: 1)
        life.tell(.lifecycle(.measured(ResourceUse(cpuTime: .zero))))
        life.use = ResourceUse(cpuTime: .zero, runDelay: .seconds(40))
        life.run(to: .minutes(5))
        #expect(life.decisionTimes == [.seconds(60)])
        #expect(life.codes == [.machineBusy])
    }

    @Test("the machine is at fault from half of the stay on", arguments: [false, true])
    func halfBusy(isHalf: Bool) {
        var life = Timeline.inBackground(tasks: 1)
        life.tell(.lifecycle(.measured(ResourceUse(cpuTime: .zero))))
        life.use = ResourceUse(cpuTime: .zero, runDelay: .seconds(30) - (isHalf ? .zero : .nanosecond))
        life.run(to: .minutes(5))
        #expect(life.codes == [isHalf ? .machineBusy : .backgroundTask])
    }

    @Test("a task that ends during the examination causes no kill", arguments: [true, false])
    func endedMeanwhile(isEnd: Bool) {
        var life = Timeline.inBackground(tasks: 1)
        life.evidence = nil
        life.at(.seconds(30) + .milliseconds(100), isEnd ? .lifecycle(.taskEnded(id: 1)) : .channelLost)
        life.run(to: .seconds(32))
        #expect(life.examination == 1)
        #expect(life.incidents.isEmpty)
    }

    @Test("a system suspension takes no time from a stay")
    func machineResumed() {
        var life = Timeline.inBackground(tasks: 1)
        life.at(.seconds(3), .machineResumed(suspension: .minutes(1)))
        life.run(to: .minutes(1))
        #expect(life.times(of: "expire") == [.seconds(25)])
        #expect(life.decisionTimes == [.seconds(30)])
    }

    @Test("handlers regain the time that the supervisor overslept, up to their whole allowance", arguments: [4, 5, 6])
    func oversleptHandlers(seconds: Int) {
        var life = Timeline.inBackground(tasks: 1)
        life.run(to: .seconds(25))
        life.oversleep(
            to: .seconds(30 + seconds), .ponged(nonce: life.nonces[life.nonces.count - 1]), .deadlineReached)
        #expect(life.nextDeadline == .seconds(30 + seconds + min(seconds, 5)))
    }

    @Test(
        "an app that reaches its CPU limit is killed, and CPU time is measured again when it could be reached",
        arguments: [false, true])
    func exactCPUTime(isOver: Bool) {
        var life = Timeline.inBackground(
            .app {
                ($0.lifecycle.backgroundCPUTime, $0.lifecycle.processorCount) = (.seconds(10), 2)
            }, tasks: 1)
        life.tell(.lifecycle(.measured(ResourceUse(cpuTime: .seconds(3)))))
        let times = life.times(of: "measure").count
        life.at(.seconds(4), .lifecycle(.measured(ResourceUse(cpuTime: .seconds(11)))))
        life.run(to: .seconds(5))
        #expect(life.times(of: "measure").dropFirst(times) == [.seconds(5)], "the last 2 s on two CPUs")
        life.tell(.lifecycle(.measured(ResourceUse(cpuTime: .seconds(13) - (isOver ? .zero : .nanosecond)))))
        #expect(life.codes == (isOver ? [.backgroundCPUTime] : []))
    }

    @Test("CPU time in the foreground does not count, and is not counted twice in report mode")
    func limitedCPUTime() {
        let limit: @Sendable (inout AppSpec) -> Void = { $0.lifecycle.backgroundCPUTime = .seconds(1) }
        var back = Timeline.inBackground(.app(limit), tasks: 1)
        back.tell(.lifecycle(.measured(ResourceUse(cpuTime: .zero))))
        back.ask(.foreground)
        back.load = 1
        back.run(to: .seconds(20))
        #expect(back.incidents.isEmpty)
        var reported = Timeline.inBackground(
            .app {
                limit(&$0)
                $0.enforcement = .report
            }, tasks: 1)
        reported.tell(.lifecycle(.measured(ResourceUse(cpuTime: .zero))))
        reported.load = 1
        reported.run(to: .seconds(20))
        #expect(reported.codes == [.backgroundCPUTime])
    }

    @Test("a flood of tasks is reported once and names sixty-four of them")
    func reportedFlood() {
        var life = Timeline.participating(.app { ($0.enforcement, $0.lifecycle.taskLimit) = (.report, 65) })
        for id in 1...66 { life.begin(UInt64(id)) }
        life.run(to: .seconds(10))
        life.end(66)
        life.begin(67)
        life.run(to: .seconds(20))
        guard life.codes.count == 1, case .tooManyTasks(66, let first)? = life.incidents.first?.cause else {
            Issue.record("\(life.incidents.map(\.cause))")
            return
        }
        #expect(first.map(\.id) == Array(1...64))
    }

    @Test("a supervisor that overslept gives the handlers their time")
    func overslept() {
        var life = Timeline.inBackground(tasks: 1)
        life.handlerTime = .seconds(4)
        life.run(to: .seconds(20))
        life.lateness = .seconds(10)
        life.run(to: .seconds(36))
        life.lateness = .zero
        life.run(to: .seconds(60))
        #expect(life.incidents.isEmpty)
    }

    @Test("CPU time in the background is limited if configured", arguments: [1.0, 0.9])
    func backgroundCPUTime(load: Double) {
        var life = Timeline.inBackground(.app { $0.lifecycle.backgroundCPUTime = .seconds(10) }, tasks: 1)
        life.tell(.lifecycle(.measured(ResourceUse(cpuTime: .zero))))
        life.load = load
        life.at(.seconds(10.5), .lifecycle(.taskEnded(id: 1)))
        life.run(to: .seconds(11))
        #expect(life.codes == (load == 1 ? [.backgroundCPUTime] : []))
    }

    @Test("in report mode the app is still suspended, and is reported once", arguments: [false, true])
    func reportOnly(isAsked: Bool) {
        var life = Timeline.inBackground(.reporting, tasks: 1)
        if isAsked { life.ask(.suspend, at: .seconds(5)) }
        life.run(to: .minutes(5))
        #expect(life.codes == [.backgroundTask])
        #expect(life.state == .suspended)
        #expect(life.reports.count == 1)
    }
}
