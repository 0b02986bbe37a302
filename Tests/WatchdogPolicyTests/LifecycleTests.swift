// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

@Suite("Foreground, background and back")
struct LifecycleTests {
    @Test("an app goes through launch, foreground, inactive, background and suspended, and back to the foreground")
    func wholeWay() {
        var life = Timeline(isLaunched: false)
        #expect(life.state == .notRunning)
        life.pongTime = .milliseconds(1)
        life.tell(.launchRequested)
        #expect(life.state == .launching)
        life.tell(.lifecycle(.joined), .ready(.channel))
        #expect(life.state == .foreground)
        life.stateTime = .milliseconds(10)
        life.ask(.background, at: .seconds(1))
        #expect(life.state == .inactive)
        life.run(to: .seconds(2))
        #expect(life.state == .background)
        life.ask(.suspend)
        #expect(life.state == .suspended)
        life.ask(.foreground, at: .seconds(60))
        #expect(life.state == .inactive)
        life.run(to: .seconds(61))
        #expect(life.state == .foreground)
        #expect(
            life.machine.lifecycleRecord.moments.map(\.state) == [
                .launching, .foreground, .inactive, .background, .suspended, .background, .inactive, .foreground,
            ])
        life.tell(.terminateRequested)
        #expect(life.state == .terminating)
    }

    @Test("the history of an app that does not participate begins with its launch")
    func plainHistory() {
        var life = Timeline()
        func history() -> [LifecycleRecord.Moment] { life.machine.lifecycleRecord.moments }
        let launched = life.machine.launchedAt ?? Instant(nanoseconds: 0)
        let launching = LifecycleRecord.Moment(at: launched, state: .launching)
        #expect(history() == [launching])
        life.at(.seconds(2), .ready(.notify))
        let ready = LifecycleRecord.Moment(at: launched + .seconds(2), state: .foreground)
        #expect(history() == [launching, ready])
        life.ask(.background, at: .seconds(3))
        let behind = LifecycleRecord.Moment(at: launched + .seconds(3), state: .background)
        #expect(history() == [launching, ready, behind])
    }

    @Test("an app killed before it was ready was launching; one found running never was")
    func shortHistory() {
        var late = Timeline(AppSpec(name: "App", readiness: .notify))
        late.run(to: .seconds(30))
        #expect(late.state == .notRunning)
        #expect(late.machine.lifecycleRecord.moments.map(\.state) == [.launching])
        var found = Timeline(isLaunched: false)
        found.tell(.adopted(pid: 9))
        #expect(found.machine.lifecycleRecord.moments.map(\.state) == [.foreground])
    }

    @Test("didEnterBackground may take 5 s; a nanosecond more is a kill", arguments: [false, true])
    func enteringBackground(isOver: Bool) {
        var life = Timeline.participating()
        life.stateTime = .seconds(5) + (isOver ? .nanosecond : .nanoseconds(-1))
        life.ask(.background, at: .seconds(10))
        life.run(to: .seconds(20))
        #expect(life.decisionTimes == (isOver ? [.seconds(15)] : []))
        guard isOver else { return }
        #expect(life.incidents.first?.event == .sceneUpdate)
        #expect(life.incidents.first?.allowance == .seconds(5))
        #expect(life.codes == [.ateBadFood])
    }

    @Test("entering the foreground may take 10 s", arguments: [false, true])
    func enteringForeground(isOver: Bool) {
        var life = Timeline.inBackground(.restless)
        life.stateTime = .seconds(10) + (isOver ? .nanosecond : .nanoseconds(-1))
        life.ask(.foreground, at: .seconds(20))
        life.run(to: .seconds(40))
        #expect(life.decisionTimes == (isOver ? [.seconds(30)] : []))
    }

    @Test("an app that hung before the request is killed at the earlier of both deadlines")
    func hungBefore() {
        var early = Timeline.participating()
        early.run(to: .milliseconds(500))
        early.pongTime = nil
        early.stateTime = nil
        early.ask(.background, at: .seconds(2))
        early.run(to: .seconds(30))
        #expect(early.decisionTimes == [.seconds(7)])

        var late = Timeline.participating()
        late.run(to: .milliseconds(500))
        late.pongTime = nil
        late.stateTime = nil
        late.ask(.background, at: .seconds(9))
        late.run(to: .seconds(30))
        #expect(late.decisionTimes == [.seconds(11)])
    }

    @Test("a late ping answer does not reduce the time for the transition")
    func answeredBetween() {
        var life = Timeline.participating()
        life.run(to: .milliseconds(500))
        life.pongTime = .seconds(9)
        life.stateTime = nil
        life.ask(.background, at: .seconds(9))
        life.run(to: .seconds(30))
        #expect(life.decisionTimes == [.seconds(15)])
    }

    @Test("no ping is sent during a transition, and pings continue in the background")
    func pings() {
        var life = Timeline.participating(.restless)
        life.stateTime = .seconds(4)
        life.ask(.background, at: .milliseconds(500))
        life.run(to: .milliseconds(4_499))
        #expect(life.pingTimes == [.zero])
        life.run(to: .seconds(8))
        #expect(
            life.pingTimes == [
                .zero, .milliseconds(4_500), .milliseconds(5_500), .milliseconds(6_500), .milliseconds(7_500),
            ])
    }

    @Test("the main loop must answer in the background as in the foreground")
    func hangInBackground() {
        var life = Timeline.inBackground(.restless)
        life.run(to: .seconds(3))
        life.pongTime = nil
        life.run(to: .seconds(20))
        #expect(life.incidents.map(\.visibility) == [.background])
        #expect(life.decisionTimes == [.seconds(14)])
    }

    @Test("an event must be handled within the update allowance", arguments: [false, true])
    func event(isOver: Bool) {
        var life = Timeline.participating()
        life.eventTime = .seconds(10) + (isOver ? .nanosecond : .nanoseconds(-1))
        life.ask(.event(kind: "url", payload: "x"), at: .seconds(1))
        life.run(to: .seconds(20))
        #expect(life.decisionTimes == (isOver ? [.seconds(11)] : []))
        #expect(life.machine.hangs.count == (isOver ? 0 : 1))
    }

    @Test("events are answered in order, and each has its whole allowance")
    func eventsInOrder() {
        var life = Timeline.participating()
        for _ in 0..<3 { life.ask(.event(kind: "tick", payload: "")) }
        life.at(.seconds(9), .lifecycle(.eventDone(1)))
        life.at(.seconds(18), .lifecycle(.eventDone(2)))
        life.run(to: .seconds(40))
        #expect(life.decisionTimes == [.seconds(28)])
    }

    @Test("one answer confirms all earlier events")
    func cumulativeAnswer() {
        var life = Timeline.participating()
        for _ in 0..<3 { life.ask(.event(kind: "tick", payload: "")) }
        life.at(.seconds(9), .lifecycle(.eventDone(3)))
        life.run(to: .seconds(40))
        #expect(life.incidents.isEmpty)
        #expect(life.machine.lifecycleRecord.mistakes.total == 0)
    }

    @Test("an event for which nothing listens is lost, those before it are handled, and no deadline runs on")
    func lostEvent() {
        var life = Timeline.participating()
        for kind in ["tap", "url", "tick"] { life.ask(.event(kind: kind, payload: "")) }
        life.at(.seconds(9), .lifecycle(.eventLost(2)))
        #expect(life.lifecycleNotices.suffix(2) == [.handled(event: "tap", after: .seconds(9)), .lost(event: "url")])
        life.at(.seconds(18), .lifecycle(.eventDone(3)))
        #expect(life.lifecycleNotices.last == .handled(event: "tick", after: .seconds(18)))
        life.run(to: .seconds(40))
        #expect(life.incidents.isEmpty)
        #expect(life.machine.lifecycleRecord.mistakes.total == 0)
    }

    @Test(
        "losing an event that was not sent, or twice, is a mistake and nothing else",
        arguments: [1, 2, .max] as [UInt64])
    func lostUnknown(id: UInt64) {
        var life = Timeline.participating()
        life.ask(.event(kind: "url", payload: ""))
        life.at(.seconds(1), .lifecycle(.eventLost(1)))
        let notices = life.lifecycleNotices
        life.at(.seconds(2), .lifecycle(.eventLost(id)))
        #expect(life.lifecycleNotices == notices)
        #expect(life.machine.lifecycleRecord.mistakes.unknownEvents == 1)
    }

    @Test("an event that is not reported as lost in time is a kill", arguments: [false, true])
    func lostTooLate(isOver: Bool) {
        var life = Timeline.participating()
        life.ask(.event(kind: "url", payload: ""), at: .seconds(1))
        let time = Duration.seconds(11) + (isOver ? .nanosecond : .nanoseconds(-1))
        life.run(to: time)
        life.at(time, .lifecycle(.eventLost(1)))
        life.run(to: .seconds(20))
        #expect(life.incidents.count == (isOver ? 1 : 0))
    }

    @Test("a request during the launch is carried out after it")
    func duringLaunch() {
        var life = Timeline()
        life.pongTime = .milliseconds(1)
        life.stateTime = .milliseconds(1)
        life.eventTime = .milliseconds(1)
        life.tell(.lifecycle(.joined))
        life.ask(.event(kind: "url", payload: ""), at: .seconds(1))
        life.ask(.background)
        #expect(life.lifecycleEffects.isEmpty)
        life.at(.seconds(2), .ready(.channel))
        #expect(life.lifecycleEffects.map(\.summary) == ["deliver", "enter-background"])
        life.run(to: .seconds(3))
        #expect(life.state == .background)
    }

    @Test("the latest request wins: an app on its way to suspension turns around")
    func turnsRound() {
        var life = Timeline.participating()
        life.ask(.suspend, at: .seconds(1))
        life.ask(.foreground)
        life.run(to: .seconds(2))
        #expect(life.state == .foreground)
        #expect(life.lifecycleEffects.contains(.freeze) == false)
        #expect(life.times(of: "enter-foreground") == [.milliseconds(1_010)])
    }

    @Test("a program that does not participate is sent nothing, but can be suspended and resumed")
    func outsider() {
        var life = Timeline(.app { $0.readiness = .none })
        life.ask(.background, at: .seconds(1))
        #expect(life.state == .background)
        life.run(to: .seconds(100))
        life.ask(.suspend)
        #expect(life.state == .suspended)
        life.ask(.resume)
        #expect(life.state == .background)
        life.ask(.foreground)
        life.ask(.event(kind: "url", payload: ""))
        #expect(life.lifecycleEffects == [.freeze, .thaw])
        #expect(
            life.lifecycleNotices.last == .refused(.event(kind: "url", payload: ""), .notTakingPart))
    }

    @Test("an impossible request is rejected with its name")
    func refusals() {
        var life = Timeline(isLaunched: false)
        life.ask(.background)
        life = .participating()
        life.ask(.resume)
        life.stateTime = nil
        life.ask(.suspend)
        life.ask(.suspend)
        for _ in 0..<64 { life.ask(.event(kind: "x", payload: "")) }
        life.tell(.terminateRequested)
        life.ask(.foreground)
        let refusals = life.lifecycleNotices.compactMap { notice -> LifecycleRefusal? in
            if case .refused(_, let refusal) = notice { refusal } else { nil }
        }
        #expect(refusals == [.notSuspended, .alreadySuspended, .tooManyEvents, .notRunning])
    }

    @Test("an unsolicited answer is tolerated and counted as a mistake")
    func mistakes() {
        var life = Timeline.participating(.restless)
        life.tell(.lifecycle(.stateDone(7)), .lifecycle(.eventDone(1)), .lifecycle(.taskEnded(id: 3)))
        life.begin(1)
        life.begin(1)
        life.stateTime = .zero
        life.ask(.background)
        life.ask(.foreground)
        life.tell(.lifecycle(.stateDone(1)), .lifecycle(.stateDone(2)))
        life.run(to: .seconds(20))
        let mistakes = life.machine.lifecycleRecord.mistakes
        #expect(mistakes.unknownStates == 1)
        #expect(mistakes.unknownEvents == 1)
        #expect(mistakes.unknownTasks == 1)
        #expect(mistakes.repeatedTasks == 1)
        #expect(mistakes.statesOutOfOrder == 1)
        #expect(life.incidents.isEmpty)
        #expect(life.state == .foreground)
    }

    @Test("a debugger pauses the clock of a transition")
    func debugged() {
        var life = Timeline.participating()
        life.stateTime = nil
        life.evidence = Evidence(state: "t", tracer: 7)
        life.ask(.background, at: .seconds(1))
        life.run(to: .seconds(100))
        #expect(life.incidents.isEmpty)
        life.evidence = Evidence(state: "S")
        life.run(to: .seconds(110))
        #expect(life.incidents.count == 1)
    }

    @Test("in report mode, a late answer still moves the app to the background")
    func reportOnly() {
        var life = Timeline.participating(.reporting)
        life.stateTime = .seconds(8)
        life.ask(.background, at: .seconds(1))
        life.run(to: .seconds(10))
        #expect(life.decisionTimes == [.seconds(6)])
        #expect(life.state == .background)
    }
}
