// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

@Suite("Termination")
struct TerminationTests {
    @Test("the first request asks the app to exit, the second kills it")
    func twice() {
        var life = Timeline.pinging()
        life.at(.seconds(1), .terminateRequested)
        #expect(life.effects.suffix(3) == [.announce(.terminating(isRequested: true)), .beginWindow, .terminate])
        life.at(.seconds(2), .terminateRequested)
        #expect(life.effects.last == .killTree)
        life.run(to: .minutes(1))
        #expect(life.outcome?.cause == .killedOnRequest)
        #expect(life.outcome?.isDeathVerified == true)
        #expect(life.incidents == [])
    }

    @Test("an app that exits after a request was terminated; one that exits by itself exited")
    func causes() {
        func cause(_ event: ProcessEvent?) -> Outcome.Cause? {
            var life = Timeline.pinging()
            if let event { life.at(.seconds(1), event) }
            life.at(.seconds(2), .exited(.exited(code: 0)))
            life.run(to: .seconds(3))
            return life.outcome?.cause
        }
        #expect(cause(nil) == .exited)
        #expect(cause(.stopping) == .exited)
        #expect(cause(.terminateRequested) == .terminated)
    }

    @Test("an app that is already stopping is asked once, and gets no more time")
    func stoppingThenRequest() {
        var life = Timeline.pinging()
        life.at(.seconds(1), .stopping, .stopping)
        life.at(.seconds(3), .terminateRequested, .stopping)
        #expect(life.effects.filter { $0 == .terminate }.count == 1)
        #expect(life.notices.suffix(2) == [.terminating(isRequested: false), .terminating(isRequested: true)])
        life.run(to: .minutes(1))
        #expect(life.decisionTimes == [.seconds(6)])
        #expect(life.incidents.map(\.event) == [.processExit])
    }

    @Test("a request ends the launch and the pings")
    func duringLaunch() {
        var life = Timeline(.app { $0.readiness = .command })
        life.at(.seconds(1), .terminateRequested)
        life.tell(.probed(isReady: true), .ready(.channel), .hello, .probed(isReady: false))
        #expect(life.machine.phase == .terminating(isRequested: true))
        #expect(life.nextDeadline == .seconds(6))
        #expect(life.nonces == [])
    }

    @Test("a hung app that is asked to exit gets the termination allowance, not the rest of its hang")
    func hung() {
        var life = Timeline.pinging()
        life.inspectionTime = .milliseconds(100)
        life.at(.milliseconds(10_050), .terminateRequested)
        life.run(to: .minutes(1))
        #expect(life.incidents.map(\.event) == [.processExit])
        #expect(life.decisionTimes == [.milliseconds(15_150)])
    }

    @Test("a request after the exit has no effect")
    func afterExit() {
        var life = Timeline.pinging()
        life.at(.seconds(1), .exited(.exited(code: 0)), .terminateRequested, .terminateRequested)
        life.run(to: .minutes(1))
        #expect(life.outcome?.cause == .exited)
        #expect(!life.effects.contains(.terminate))
    }

    @Test("a stopped app gets SIGCONT with the request, so that being stopped is no excuse")
    func stoppedByItself() {
        var life = Timeline.pinging()
        life.evidence = Evidence(state: "T")
        life.at(.seconds(1), .stopped)
        life.at(.seconds(3), .terminateRequested, .stopped)
        life.run(to: .minutes(1))
        #expect(life.decisionTimes == [.seconds(8)])
        #expect(life.notices.contains(.resumed(after: .seconds(2))))
    }

    @Test("an app that stops while it exits unrequested gets no SIGCONT: being stopped is an excuse")
    func stoppedWhileStopping() {
        var life = Timeline.pinging()
        life.evidence = Evidence(state: "T")
        life.at(.seconds(1), .stopping)
        life.at(.seconds(2), .stopped)
        life.run(to: .minutes(1))
        #expect(life.incidents == [])
        life.at(.minutes(2), .continued)
        life.evidence = Evidence(state: "S")
        life.run(to: .minutes(3))
        #expect(life.decisionTimes == [.minutes(2) + .seconds(4)])
    }

    @Test("an app that exits unrequested gets SIGCONT with a later request")
    func requestedLater() {
        var life = Timeline.pinging()
        life.tell(.stopping)
        life.evidence = Evidence(state: "T")
        life.at(.seconds(1), .terminateRequested)
        life.at(.seconds(2), .stopped)
        life.run(to: .seconds(5))
        #expect(life.decisionTimes == [.seconds(5)])
    }

    @Test("a request ends the readiness probes")
    func endsProbes() {
        var life = Timeline(.app { $0.readiness = .listening })
        life.run(to: .zero)
        life.at(.milliseconds(1), .probed(isReady: false), .terminateRequested)
        let count = life.effects.filter { $0 == .probe }.count
        life.run(to: .seconds(1))
        #expect(life.effects.filter { $0 == .probe }.count == count)
    }

    @Test("a traced app is not killed for not exiting; the second request kills it")
    func traced() {
        var life = Timeline.pinging()
        life.evidence = Evidence(state: "t", tracer: 7)
        life.at(.seconds(1), .terminateRequested)
        life.run(to: .minutes(1))
        #expect(life.incidents == [])
        life.tell(.terminateRequested)
        life.run(to: .minutes(2))
        #expect(life.outcome?.cause == .killedOnRequest)
    }
}
