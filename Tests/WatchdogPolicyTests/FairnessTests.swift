// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

@Suite("Fairness: the supervisor overslept")
struct OversleepTests {
    private let bound = Duration.milliseconds(100)

    @Test("a deadline that is handled within the bound is enforced", arguments: DeadlineCase.all)
    func within(_ deadline: DeadlineCase) {
        var life = deadline.life
        life.lateness = bound
        life.run(to: deadline.deadline + bound)
        #expect(life.decisionTimes == [deadline.deadline + bound])
        #expect(life.incidents.first.map { $0.decidedAt - $0.deadline } == bound)
    }

    @Test(
        "a deadline that is handled a nanosecond later is distrusted, and enforced the next time",
        arguments: DeadlineCase.all)
    func beyond(_ deadline: DeadlineCase) {
        let late = bound + .nanosecond
        var life = deadline.life
        life.lateness = late
        life.run(to: deadline.deadline + late)
        #expect(life.incidents == [])
        #expect(life.notices.last == .overslept(by: late, event: deadline.event))
        life.lateness = .zero
        life.run(to: .minutes(1))
        // A ping or push starts over; a launch or termination regains the overslept time.
        let regained = deadline.event == .sceneUpdate ? deadline.allowance : late
        #expect(life.decisionTimes == [deadline.deadline + late + regained])
        #expect(life.incidents.map(\.rebases) == [1])
    }

    @Test("a fresh ping must be missed too, and an answer to either ping spares the app", arguments: [0, 1])
    func freshPing(answered: Int) {
        var life = Timeline.pinging()
        life.lateness = .milliseconds(400)
        life.run(to: .milliseconds(10_400))
        #expect(life.pingTimes == [.zero, .milliseconds(10_400)])
        life.lateness = .zero
        life.at(.milliseconds(20_400), .ponged(nonce: life.nonces[answered]))
        life.run(to: .milliseconds(20_401))
        #expect(life.incidents == [])
    }

    @Test("messages that arrived while the supervisor slept are read first")
    func signsOfLifeFirst() {
        var life = Timeline.pinging()
        life.oversleep(to: .seconds(15), .ponged(nonce: life.nonces[0]), .deadlineReached)
        #expect(life.notices.last == .hung(for: .seconds(15)))
        #expect(life.incidents == [])
    }

    @Test("a hello that is read first does not hide that the supervisor overslept")
    func helloFirst() {
        var life = Timeline()
        life.oversleep(to: .seconds(25), .hello, .deadlineReached)
        #expect(life.notices.last == .overslept(by: .seconds(5), event: .sceneCreate))
        life.run(to: .minutes(1))
        #expect(life.decisionTimes == [.seconds(30)])
    }

    @Test("a launch that starved together with the supervisor keeps its evidence and its credit")
    func evidenceIsKept() {
        var life = Timeline(.app { $0.readiness = .channel })
        life.evidence = Evidence(state: "R", runDelay: .seconds(15))
        life.lateness = .milliseconds(150)
        life.run(to: .milliseconds(20_150))
        #expect(life.effects.filter { $0 == .beginWindow }.count == 1)
        life.lateness = .zero
        life.run(to: .minutes(1))
        #expect(life.decisionTimes == [.milliseconds(35_300)])
        #expect(life.incidents.map { $0.windowStart == life.machine.launchedAt } == [true])
    }

    @Test("a launch regains the overslept time, up to its whole allowance", arguments: [19, 20, 21])
    func longSleep(seconds: Int) {
        var life = Timeline(.app { $0.readiness = .channel })
        life.oversleep(to: .seconds(20 + seconds), .deadlineReached)
        #expect(life.nextDeadline == .seconds(20 + seconds + min(seconds, 20)))
    }

    @Test("the report mentions a postponed deadline even after hello")
    func postponedBeforeHello() {
        var life = Timeline(.app { $0.readiness = .channel })
        life.oversleep(to: .seconds(21), .deadlineReached)
        life.at(.milliseconds(21_500), .hello)
        life.run(to: .minutes(1))
        #expect(life.incidents.map(\.event) == [.sceneCreate])
        #expect(life.incidents.map(\.rebases) == [1])
    }

    @Test("a silent app is assumed to be ready only at a trusted deadline")
    func silentLaunch() {
        var life = Timeline()
        life.oversleep(to: .seconds(20) + bound + .nanosecond, .deadlineReached)
        #expect(life.machine.phase == .launching)
        var punctual = Timeline()
        punctual.oversleep(to: .seconds(20) + bound, .deadlineReached)
        #expect(punctual.machine.phase == .running)
    }

    @Test("latency is measured from the fresh ping")
    func freshMeasure() {
        var life = Timeline.pinging()
        life.oversleep(to: .seconds(11), .deadlineReached)
        life.at(.milliseconds(11_249), .ponged(nonce: life.nonces[1]))
        #expect(life.machine.pings.maximum == .milliseconds(249))
        #expect(life.machine.hangs.count == 0)
    }
}

@Suite("Fairness: the machine was suspended")
struct SuspendTests {
    @Test("every live allowance starts over", arguments: DeadlineCase.all)
    func suspended(_ deadline: DeadlineCase) {
        var life = deadline.life
        life.at(deadline.deadline - .nanosecond, .machineResumed(suspension: .minutes(5)))
        #expect(life.notices.last == .machineResumed(suspension: .minutes(5)))
        // scene-create is the second part of the launch budget, which starts over as a whole.
        let whole = deadline.event == .sceneCreate ? .seconds(20) : deadline.allowance
        life.run(to: deadline.deadline + whole - .nanoseconds(2))
        #expect(life.incidents == [])
        life.run(to: deadline.deadline + whole - .nanosecond)
        #expect(life.decisionTimes == [deadline.deadline + whole - .nanosecond])
        #expect(life.incidents.map(\.rebases) == [1])
    }

    @Test("a pending examination is void", arguments: [true, false])
    func duringExamination(isAnswered: Bool) {
        var life = Timeline.pinging()
        life.evidence = nil
        life.at(.milliseconds(10_100), .machineResumed(suspension: .minutes(5)))
        if isAnswered { life.tell(life.inspected(Evidence(state: "S"))) }
        life.run(to: .milliseconds(20_100))
        #expect(life.incidents == [])
        #expect(life.pingTimes == [.zero, .milliseconds(10_100)])
        life.run(to: .milliseconds(20_350))
        #expect(life.incidents.map(\.evidence) == [nil])
    }

    @Test("a deadline further away than a new allowance stays", arguments: DeadlineCase.all)
    func extended(_ deadline: DeadlineCase) {
        var life = deadline.life
        life.tell(.extensionRequested(by: .seconds(300), progress: "1 %"))
        let end = life.elapsed + .seconds(300)
        life.at(.seconds(100), .machineResumed(suspension: .minutes(5)))
        life.run(to: .minutes(10))
        #expect(life.decisionTimes == [end])
    }

    @Test("nothing happens if nothing is due")
    func idle() {
        var life = Timeline()
        life.at(.seconds(1), .ready(.notify))
        let count = life.log.count
        life.at(.seconds(2), .machineResumed(suspension: .minutes(5)))
        #expect(life.log.count == count)
        #expect(life.nextDeadline == nil)
    }
}

@Suite("Fairness: the app starved")
struct StarvationTests {
    private func starved(by delay: Duration, _ life: Timeline = .pinging()) -> Timeline {
        var life = life
        life.evidence = Evidence(state: "R", runDelay: delay)
        life.run(to: .minutes(2))
        return life
    }

    /// The floor is one percent of 10 s.
    @Test(
        "run delay counts from its floor",
        arguments: [
            (Duration.milliseconds(100) - .nanosecond, Duration.zero),
            (.milliseconds(100), .milliseconds(100)),
            (.milliseconds(1_234), .milliseconds(1_234)),
        ])
    func floor(delay: Duration, credit: Duration) {
        let life = starved(by: delay)
        #expect(life.decisionTimes == [.seconds(10) + credit])
        #expect(life.incidents.map(\.credit) == [credit])
        #expect(life.notices.contains(.starvationCredit(credit, event: .sceneUpdate)) == (credit > .zero))
    }

    @Test(
        "run delay counts up to its cap",
        arguments: [
            (Duration.seconds(10) - .nanosecond, Duration.seconds(10) - .nanosecond), (.seconds(10), .seconds(10)),
            (.seconds(10) + .nanosecond, .seconds(10)), (.seconds(1_000), .seconds(10)),
        ])
    func cap(delay: Duration, credit: Duration) {
        #expect(starved(by: delay).decisionTimes == [.seconds(10) + credit])
    }

    @Test("floor and cap are exact where floating-point arithmetic is not")
    func exactness() {
        let allowance = Duration.nanoseconds(12_345_678_900)
        let spec = AppSpec.app { $0.allowances.update = allowance }
        let floor = Duration.nanoseconds(123_456_789)
        #expect(starved(by: floor - .nanosecond, .pinging(spec)).incidents.map(\.credit) == [.zero])
        #expect(starved(by: floor, .pinging(spec)).incidents.map(\.credit) == [floor])
        #expect(starved(by: .seconds(60), .pinging(spec)).incidents.map(\.credit) == [allowance])
    }

    @Test("credit is granted once, and again for the next ping")
    func once() {
        var life = Timeline.pinging()
        life.evidence = Evidence(state: "R", runDelay: .seconds(4))
        life.at(.milliseconds(13_999), .ponged(nonce: life.nonces[0]))
        life.run(to: .minutes(2))
        #expect(life.notices.filter { $0 == .starvationCredit(.seconds(4), event: .sceneUpdate) }.count == 2)
        #expect(life.decisionTimes == [.milliseconds(27_999)])
    }

    /// The examination takes 150 ms, so a credit of 150 ms ends with it.
    @Test(
        "credit that has elapsed before it is granted does not count",
        arguments: [
            (Duration.milliseconds(150), Duration.zero),
            (.milliseconds(150) + .nanosecond, .milliseconds(150) + .nanosecond),
        ])
    func usedUp(delay: Duration, credit: Duration) {
        var life = Timeline.pinging()
        life.inspectionTime = .milliseconds(150)
        life = starved(by: delay, life)
        #expect(life.incidents.map(\.credit) == [credit])
    }

    @Test("in scene-create, credit is measured against the whole launch")
    func launch() {
        var life = Timeline()
        life.at(.milliseconds(19_900), .hello)
        life = starved(by: .seconds(18), life)
        #expect(life.decisionTimes == [.seconds(38)])
        #expect(life.incidents.map(\.windowStart) == [life.machine.launchedAt])
        #expect(life.incidents.map(\.allowance) == [.milliseconds(100)])
    }

    @Test("credit granted before hello is not granted again after it")
    func creditAcrossHello() {
        var life = Timeline(.app { $0.readiness = .channel })
        life.evidence = Evidence(state: "R", runDelay: .seconds(5))
        life.at(.seconds(22), .hello)
        life.run(to: .minutes(2))
        #expect(life.decisionTimes == [.seconds(25)])
        #expect(life.incidents.map(\.credit) == [.seconds(5)])
    }
}

@Suite("Fairness: two pieces of evidence")
struct EvidenceTests {
    private func examined(after time: Duration?, _ spec: AppSpec = AppSpec(name: "App")) -> Timeline {
        var life = Timeline.pinging(spec)
        life.evidence = nil
        life.run(to: .seconds(10))
        if let time { life.at(.seconds(10) + time, life.inspected(Evidence(state: "D"))) }
        return life
    }

    @Test(
        "the supervisor waits for the examination",
        arguments: [Duration.zero, .milliseconds(250) - .nanosecond, .milliseconds(250)])
    func inTime(_ time: Duration) {
        let life = examined(after: time)
        #expect(life.decisionTimes == [.seconds(10) + time])
        #expect(life.incidents.map(\.evidence) == [Evidence(state: "D")])
    }

    @Test("it stops waiting at its limit, to the nanosecond")
    func tooLate() {
        var life = examined(after: nil)
        life.run(to: .milliseconds(10_250) - .nanosecond)
        #expect(life.incidents == [])
        life.run(to: .milliseconds(10_250))
        #expect(life.decisionTimes == [.milliseconds(10_250)])
        #expect(life.incidents.map(\.evidence) == [nil])
    }

    @Test("an answer after the decision changes nothing", arguments: AppSpec.Enforcement.allCases)
    func afterTheDecision(_ enforcement: AppSpec.Enforcement) {
        var life = examined(after: .milliseconds(250) + .nanosecond, .app { $0.enforcement = enforcement })
        life.tell(life.inspected(Evidence(state: "T")), life.inspected(Evidence(state: "R", runDelay: .seconds(5))))
        #expect(life.incidents.count == 1)
        life.run(to: .minutes(1))
        #expect(life.incidents.count == 1)
        #expect(life.reports.map(\.id) == [1])
        #expect(life.notices.allSatisfy { $0 != .paused(.stopped) })
    }

    @Test("an unrequested examination decides nothing")
    func unasked() {
        var life = Timeline.pinging()
        life.at(
            .seconds(9), life.inspected(Evidence(state: "T")),
            life.inspected(Evidence(state: "S", runDelay: .seconds(9))))
        life.run(to: .seconds(10))
        #expect(life.decisionTimes == [.seconds(10)])
    }
}

@Suite("Fairness: stopped, frozen or traced by somebody else")
struct PauseTests {
    private static let pauses: [(Evidence, Pause)] = [
        (Evidence(state: "T"), .stopped), (Evidence(state: "t"), .stopped),
        (Evidence(state: "t", tracer: 42), .traced(by: 42)),
        (Evidence(state: "S", tracer: 42), .traced(by: 42)), (Evidence(state: "S", isFrozen: true), .frozen),
        (Evidence(state: "T", tracer: 42, isFrozen: true), .traced(by: 42)),
        (Evidence(state: "T", isFrozen: true), .frozen),
        (Evidence(state: "D", isDumpingCore: true), .dumpingCore),
    ]

    @Test("an app found paused at the deadline gets its whole allowance and a fresh ping", arguments: pauses)
    func found(evidence: Evidence, pause: Pause) {
        var life = Timeline.pinging()
        life.evidence = evidence
        life.run(to: .minutes(1))
        #expect(life.incidents == [])
        #expect(life.time(of: .paused(pause)) == .seconds(10))
        #expect(life.notices.filter { $0 == .paused(pause) }.count == 1)
        life.evidence = Evidence(state: "S")
        life.run(to: .minutes(1) + .milliseconds(250))
        #expect(life.notices.last == .resumed(after: .milliseconds(50_250)))
        #expect(life.pingTimes == [.zero, .milliseconds(60_250)])
        life.run(to: .minutes(2))
        #expect(life.decisionTimes == [.milliseconds(70_250)])
    }

    @Test("a launch or termination found paused gets its whole allowance", arguments: DeadlineCase.all)
    func foundElsewhere(_ deadline: DeadlineCase) {
        var life = deadline.life
        life.evidence = Evidence(state: "t", tracer: 42)
        life.run(to: .minutes(1))
        #expect(life.time(of: .paused(.traced(by: 42))) == deadline.deadline)
        life.evidence = Evidence(state: "S")
        life.run(to: .minutes(2))
        let whole = deadline.event == .sceneCreate ? .seconds(20) : deadline.allowance
        let resumed = life.log.last { if case .announce(.resumed) = $0.effect { true } else { false } }?.at
        #expect(life.decisionTimes == [(resumed ?? .zero) + whole])
    }

    @Test("a stop that was seen to begin leaves the remaining time, to the nanosecond")
    func seen() {
        var life = Timeline.pinging()
        life.evidence = Evidence(state: "T")
        life.at(.seconds(4), .stopped)
        life.at(.minutes(1), .continued)
        life.evidence = Evidence(state: "S")
        #expect(life.pingTimes == [.zero])
        #expect(life.notices.suffix(2) == [.paused(.stopped), .resumed(after: .seconds(56))])
        life.run(to: .seconds(66) - .nanosecond)
        #expect(life.incidents == [])
        life.run(to: .seconds(66))
        #expect(life.decisionTimes == [.seconds(66)])
        #expect(life.incidents.map(\.paused) == [.seconds(56)])
    }

    @Test(
        "a stop that is read at or after the deadline may have begun before it",
        arguments: [
            (Duration.seconds(10) - .nanosecond, Duration.seconds(60) + .nanosecond),
            (.seconds(10), .seconds(70)), (.seconds(13), .seconds(70)),
        ])
    func readLate(stop: Duration, decision: Duration) {
        var life = Timeline.pinging()
        life.evidence = Evidence(state: "T")
        life.oversleep(to: stop, .stopped)
        life.at(.seconds(60), .continued)
        life.evidence = Evidence(state: "S")
        life.run(to: .minutes(2))
        #expect(life.decisionTimes == [decision])
    }

    @Test("stops and continues may arrive in any number and order")
    func sequences() {
        var life = Timeline.pinging()
        life.evidence = Evidence(state: "T")
        life.at(.seconds(1), .continued)
        life.at(.seconds(2), .stopped, .stopped)
        life.at(.seconds(3), .continued, .continued)
        life.at(.seconds(4), .stopped, .continued, .stopped)
        life.at(.seconds(5), .continued)
        life.evidence = Evidence(state: "S")
        life.run(to: .minutes(1))
        #expect(life.decisionTimes == [.seconds(12)])
        #expect(life.incidents.map(\.paused) == [.seconds(2)])
        #expect(
            life.notices.filter { $0 == .paused(.stopped) }.count
                == life.notices.filter { if case .resumed = $0 { true } else { false } }.count)
    }

    @Test("the next examination detects an unnoticed SIGCONT")
    func unnoticed() {
        var life = Timeline.pinging()
        life.at(.seconds(4), .stopped)
        life.run(to: .seconds(5))
        #expect(life.notices.last == .resumed(after: .milliseconds(250)))
        life.run(to: .minutes(1))
        #expect(life.decisionTimes == [.milliseconds(10_250)])
    }

    @Test("SIGCONT ends a stop, but not a debugger's hold or a freeze")
    func wrongEnd() {
        var life = Timeline.pinging()
        life.evidence = Evidence(state: "t", tracer: 42)
        life.at(.seconds(4), .stopped)
        life.at(.seconds(20), .continued)
        life.run(to: .minutes(1))
        #expect(life.notices.suffix(2) == [.paused(.stopped), .paused(.traced(by: 42))])
        #expect(life.incidents == [])
    }

    @Test("a hello sent before the stop does not start a stopped app's clock")
    func helloWhileStopped() {
        var life = Timeline()
        life.evidence = Evidence(state: "T")
        life.at(.seconds(10), .stopped)
        life.at(.seconds(11), .hello)
        life.at(.seconds(100), .continued)
        life.evidence = Evidence(state: "S")
        life.run(to: .seconds(110) - .nanosecond)
        #expect(life.incidents == [])
        life.run(to: .seconds(110))
        #expect(life.decisionTimes == [.seconds(110)])
        #expect(life.incidents.map(\.paused) == [.seconds(90)])
    }

    @Test("a stop between two pings is ignored and found at the next deadline")
    func betweenPings() {
        var life = Timeline.pinging()
        life.at(.milliseconds(1), .ponged(nonce: life.nonces[0]), .stopped)
        life.evidence = Evidence(state: "T")
        life.run(to: .minutes(1))
        #expect(life.incidents == [])
        #expect(life.time(of: .paused(.stopped)) == .seconds(11))
    }

    @Test("an answer ends the pause, and its latency excludes the paused time")
    func answerWhilePaused() {
        var life = Timeline.pinging()
        life.evidence = Evidence(state: "T")
        life.at(.milliseconds(100), .stopped)
        life.at(.minutes(1), .ponged(nonce: life.nonces[0]))
        #expect(life.notices.last == .resumed(after: .minutes(1) - .milliseconds(100)))
        #expect(life.machine.pings.maximum == .milliseconds(100))
        #expect(life.machine.hangs.count == 0)
    }

    @Test("an answer under a debugger is not measured")
    func answerUnderDebugger() {
        var life = Timeline.pinging()
        life.evidence = Evidence(state: "S", tracer: 42)
        life.at(.minutes(1), .ponged(nonce: life.nonces[0]))
        #expect(life.machine.pings.count == 0)
        #expect(life.machine.hangs.count == 0)
        #expect(life.notices.last == .resumed(after: .seconds(50)))
        life.run(to: .minutes(1))
        #expect(life.pingTimes.last == .minutes(1))
    }

    @Test("an examination that is never answered is repeated, and decides nothing")
    func noAnswer() {
        var life = Timeline.pinging()
        life.at(.seconds(4), .stopped)
        life.evidence = nil
        life.run(to: .seconds(5))
        #expect(life.log.filter { if case .inspect = $0.effect { true } else { false } }.count == 4)
        life.run(to: .minutes(10))
        #expect(life.incidents == [])
    }

    @Test("every sign of life ends an announced pause")
    func announcements() {
        func isPaired(_ life: Timeline, _ event: ProcessEvent) -> Bool {
            var life = life
            life.evidence = Evidence(state: "T")
            life.at(.seconds(1), .stopped)
            life.at(.seconds(2), event)
            return life.notices.contains(.resumed(after: .seconds(1)))
        }
        #expect(isPaired(Timeline(), .ready(.channel)))
        #expect(isPaired(Timeline(), .terminateRequested))
        #expect(isPaired(.pushing(), .watchdogPinged))
        #expect(isPaired(.pushing(), .watchdogIntervalChanged(.zero)))
        #expect(isPaired(.pushing(), .hello))
        #expect(isPaired(.pinging(), .stopping))
    }
}
