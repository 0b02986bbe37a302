// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

@Suite("Extensions")
struct ExtensionTests {
    private let launch = Timeline(.app { $0.readiness = .notify })

    @Test("move the deadline to their duration from now, to the nanosecond")
    func moves() throws {
        var life = launch
        life.at(.seconds(19), .extensionRequested(by: .seconds(30), progress: "1 %"))
        #expect(life.notices.last == .extended(by: .seconds(29), event: .processLaunch))
        life.run(to: .seconds(49) - .nanosecond)
        #expect(life.incidents == [])
        life.run(to: .seconds(49))
        let incident = try #require(life.incidents.first)
        #expect(incident.extended == .seconds(29))
        #expect(incident.allowance == .seconds(20))
    }

    @Test(
        "never move it earlier",
        arguments: [Duration.seconds(19), .seconds(19) - .nanosecond, .zero, .seconds(-5)])
    func neverBack(_ duration: Duration) {
        var life = launch
        life.at(.seconds(1), .extensionRequested(by: duration, progress: "1 %"))
        #expect(life.notices == [.launched(pid: 100)])
        life.run(to: .minutes(1))
        #expect(life.decisionTimes == [.seconds(20)])
    }

    @Test("never reduce what an earlier one granted to later pings")
    func neverBackBetweenPings() {
        var life = Timeline.pinging()
        life.at(.milliseconds(1), .ponged(nonce: life.nonces[0]))
        life.at(.milliseconds(500), .extensionRequested(by: .seconds(60), progress: "1 %"))
        life.at(.milliseconds(600), .extensionRequested(by: .seconds(20), progress: "2 %"))
        life.run(to: .minutes(2))
        #expect(life.decisionTimes == [.milliseconds(60_500)])
    }

    @Test("count only with progress that differs from the last report")
    func progress() {
        var life = launch
        life.at(.seconds(1), .extensionRequested(by: .seconds(60), progress: nil))
        #expect(life.notices.last == .extensionRefused(.noProgress))
        life.at(.seconds(2), .extensionRequested(by: .seconds(30), progress: "1 %"))
        #expect(life.notices.last == .extended(by: .seconds(12), event: .processLaunch))
        life.at(.seconds(3), .extensionRequested(by: .seconds(60), progress: "1 %"))
        #expect(life.notices.last == .extensionRefused(.noProgress))
        life.at(.seconds(4), .extensionRequested(by: .seconds(60), progress: "2 %"))
        life.run(to: .minutes(5))
        #expect(life.decisionTimes == [.seconds(64)])
    }

    @Test("count without progress if that is allowed, but only up to the cap")
    func blind() {
        var life = Timeline(
            .app {
                $0.readiness = .notify
                $0.fairness.allowsBlindExtension = true
            })
        for second in 0..<1_000 {
            life.at(.seconds(second), .extensionRequested(by: .seconds(15), progress: nil))
        }
        life.run(to: .minutes(60))
        #expect(life.decisionTimes == [.seconds(620)])
    }

    @Test(
        "extend to the cap and no further",
        arguments: [
            (Duration.seconds(600) - .nanosecond, Duration.seconds(600) - .nanosecond), (.seconds(600), .seconds(600)),
            (.seconds(600) + .nanosecond, .seconds(600)), (.seconds(Int64.max / 1_000_000_000), .seconds(600)),
        ])
    func cap(duration: Duration, end: Duration) {
        var life = launch
        life.tell(.extensionRequested(by: duration, progress: "1 %"))
        life.run(to: .minutes(60))
        #expect(life.decisionTimes == [end])
    }

    @Test("add up to the cap, and are rejected beyond it")
    func accumulation() {
        var life = launch
        for minute in 0..<30 {
            life.at(.seconds(19 + 20 * minute), .extensionRequested(by: .seconds(300), progress: "\(minute)"))
        }
        #expect(life.notices.last == .extensionRefused(.capReached))
        life.run(to: .minutes(60))
        #expect(life.decisionTimes == [.seconds(620)])
        #expect(life.incidents.map(\.extended) == [.seconds(600)])
    }

    @Test("keep their total across hello")
    func acrossHello() {
        var life = launch
        life.tell(.extensionRequested(by: .seconds(500), progress: "1"), .hello)
        life.at(.seconds(499), .extensionRequested(by: .seconds(500), progress: "2"))
        life.run(to: .minutes(60))
        #expect(life.decisionTimes == [.seconds(620)])
        #expect(life.incidents.map(\.allowance) == [.seconds(20)])
        #expect(life.incidents.map(\.extended) == [.seconds(600)])
    }

    @Test("apply to every ping sent while they last")
    func grace() {
        var life = Timeline.pinging()
        life.at(.milliseconds(1), .ponged(nonce: life.nonces[0]))
        life.at(.milliseconds(2), .extensionRequested(by: .seconds(100), progress: "compacting"))
        life.run(to: .seconds(100))
        #expect(life.incidents == [])
        life.run(to: .milliseconds(100_002))
        #expect(life.decisionTimes == [.milliseconds(100_002)])
    }

    @Test("expire")
    func graceEnds() {
        var life = Timeline.pinging()
        life.tell(.extensionRequested(by: .seconds(100), progress: "compacting"))
        life.at(.seconds(99), .ponged(nonce: life.nonces[0]))
        life.run(to: .minutes(60))
        #expect(life.decisionTimes == [.seconds(109)])
    }

    @Test("extensions of the launch end with it")
    func launchGrace() {
        var life = Timeline()
        life.tell(.hello, .extensionRequested(by: .seconds(300), progress: "1"), .ready(.channel))
        life.run(to: .minutes(60))
        #expect(life.decisionTimes == [.seconds(10)])
    }

    @Test("spare an app whose deadline has passed while it is being examined")
    func duringExamination() {
        var life = launch
        life.evidence = nil
        life.at(.milliseconds(20_200), .extensionRequested(by: .seconds(10), progress: "1 %"))
        life.tell(life.inspected(Evidence(state: "S")))
        #expect(life.incidents == [])
        life.evidence = Evidence(state: "S")
        life.run(to: .minutes(1))
        #expect(life.decisionTimes == [.milliseconds(30_200)])
    }

    @Test("change nothing if they do not reach past the present")
    func uselessDuringExamination() {
        var life = Timeline(
            .app {
                $0.readiness = .notify
                $0.fairness.extensionCap = .milliseconds(200)
            })
        life.evidence = nil
        life.at(.milliseconds(20_200), .extensionRequested(by: .seconds(10), progress: "1 %"))
        #expect(life.notices.last == .extensionRefused(.capReached))
        life.run(to: .minutes(1))
        #expect(life.decisionTimes == [.milliseconds(20_250)])
        #expect(life.incidents.map(\.rebases) == [0])
    }

    @Test("an extension that arrives while the clock is paused counts from when it resumes")
    func whilePaused() {
        var life = Timeline(.app { $0.readiness = .notify })
        life.evidence = Evidence(state: "T")
        life.at(.seconds(15), .stopped, .extensionRequested(by: .seconds(60), progress: "1 %"))
        #expect(life.notices.last == .extended(by: .seconds(55), event: .processLaunch))
        life.at(.minutes(10), .continued)
        life.evidence = Evidence(state: "S")
        life.run(to: .minutes(60))
        #expect(life.decisionTimes == [.minutes(10) + .seconds(60)])
    }

    @Test("survive a pause found at the deadline")
    func foundPause() {
        var life = launch
        life.evidence = Evidence(state: "S", tracer: 42)
        life.at(.seconds(30), .extensionRequested(by: .seconds(60), progress: "1 %"))
        #expect(life.notices.last == .extended(by: .seconds(40), event: .processLaunch))
        life.evidence = Evidence(state: "S")
        life.run(to: .minutes(60))
        #expect(life.decisionTimes == [.seconds(90)])
    }

    @Test("give an app more time to exit", arguments: [ProcessEvent.stopping, .terminateRequested])
    func ending(_ event: ProcessEvent) throws {
        var life = Timeline.pinging()
        life.at(.seconds(1), event)
        life.at(.seconds(5), .extensionRequested(by: .seconds(60), progress: "flushing"))
        #expect(life.notices.last == .extended(by: .seconds(59), event: .processExit))
        life.run(to: .seconds(65) - .nanosecond)
        #expect(life.decisionTimes == [])
        var inTime = life
        inTime.tell(.exited(.exited(code: 0)), .treeEmptied)
        #expect(inTime.incidents == [])
        life.run(to: .minutes(60))
        #expect(life.decisionTimes == [.seconds(65)])
        #expect(try #require(life.incidents.first).extended == .seconds(59))
    }

    @Test(
        "extensions of an exiting app reach to the cap, and need progress",
        arguments: [ProcessEvent.stopping, .terminateRequested])
    func endingForEver(_ event: ProcessEvent) {
        var life = Timeline.pinging()
        life.tell(event)
        for second in 0..<2_000 {
            life.at(.seconds(second), .extensionRequested(by: .seconds(10), progress: "\(second)"))
        }
        life.run(to: .minutes(60))
        #expect(life.decisionTimes == [.seconds(605)])

        var stuck = Timeline.pinging()
        stuck.tell(event)
        stuck.at(.seconds(1), .extensionRequested(by: .seconds(10), progress: "1"))
        for second in 2..<100 { stuck.at(.seconds(second), .extensionRequested(by: .seconds(10), progress: "1")) }
        stuck.run(to: .minutes(60))
        #expect(stuck.decisionTimes == [.seconds(11)])
    }

    @Test("extensions received while the app ran do not extend its termination allowance")
    func endingAfterwards() {
        var life = Timeline.pinging()
        life.tell(.extensionRequested(by: .seconds(300), progress: "compacting"))
        life.at(.seconds(1), .terminateRequested)
        life.run(to: .minutes(60))
        #expect(life.decisionTimes == [.seconds(6)])
    }

    @Test("have no effect if nothing is watched or the incident is decided")
    func nothing() {
        var ready = Timeline()
        ready.tell(.ready(.notify), .extensionRequested(by: .seconds(60), progress: "1 %"))
        #expect(ready.notices.last == .extensionRefused(.nothingToExtend))

        var hung = Timeline.pinging(.reporting)
        hung.at(.seconds(12), .extensionRequested(by: .seconds(60), progress: "1 %"))
        #expect(hung.notices.last == .extensionRefused(.nothingToExtend))
        #expect(hung.nextDeadline == nil)
    }
}
