// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogPolicy

@Suite("Triggers")
struct TriggerTests {
    @Test("an incident that the app requests is decided immediately, whatever else is watched")
    func atOnce() throws {
        let watched: [(Timeline, WatchdogEvent, Duration)] = [
            (Timeline(), .processLaunch, .seconds(20)), (.pinging(), .sceneUpdate, .seconds(10)),
            (.pushing(), .sceneUpdate, .seconds(10)),
            (Timeline(.app { $0.readiness = .none }), .sceneUpdate, .zero),
        ]
        for (start, event, allowance) in watched {
            var life = start
            life.at(.seconds(3), .watchdogTriggered)
            #expect(life.decisionTimes == [.seconds(3)])
            let incident = try #require(life.incidents.first)
            #expect(incident.cause == .triggered)
            #expect(incident.event == event)
            #expect(incident.allowance == allowance)
            #expect(incident.deadline == incident.decidedAt)
            #expect(incident.evidence == Evidence(state: "S"))
            life.run(to: .minutes(1))
            #expect(life.reports.count == 1)
            #expect(life.outcome?.isDeathVerified == true)
        }
    }

    @Test("no event before the examination's answer withdraws a trigger")
    func notTakenBack() {
        let words: [ProcessEvent] = [
            .ponged(nonce: Timeline.pinging().nonces[0]), .watchdogPinged, .watchdogIntervalChanged(.zero), .hello,
            .ready(.channel), .extensionRequested(by: .seconds(60), progress: "1 %"),
            .machineResumed(suspension: .seconds(60)), .stopped, .watchdogTriggered,
        ]
        for word in words {
            for start in [Timeline(), .pinging(), .pushing()] {
                var life = start
                life.evidence = nil
                life.at(.milliseconds(900), .watchdogTriggered)
                life.at(.milliseconds(901), word)
                life.at(.milliseconds(1_100), life.inspected(Evidence(state: "R")))
                #expect(life.decisionTimes == [.milliseconds(1_100)], "\(word)")
                #expect(life.incidents.map(\.cause) == [.triggered], "\(word)")
            }
        }
    }

    @Test("a ping that is due meanwhile is sent")
    func pingMeanwhile() {
        var life = Timeline.pinging()
        life.evidence = nil
        life.at(.milliseconds(1), .ponged(nonce: life.nonces[0]))
        life.at(.milliseconds(900), .watchdogTriggered)
        life.run(to: .milliseconds(1_150) - .nanosecond)
        #expect(life.pingTimes == [.zero, .seconds(1)])
        #expect(life.incidents == [])
        life.run(to: .milliseconds(1_150))
        #expect(life.incidents.map(\.evidence) == [nil])
    }

    @Test("a trigger during a launch names no missed deadline; a launch timeout does")
    func awaited() {
        var life = Timeline(.app { $0.readiness = .channel })
        var late = life
        life.at(.seconds(3), .watchdogTriggered)
        #expect(life.incidents.map(\.awaited) == [nil])
        late.run(to: .seconds(20))
        #expect(late.incidents.map(\.awaited) == ["READY=1"])
    }

    @Test("an app with a pending trigger is saved completely")
    func notWell() {
        var life = Timeline.pinging()
        life.evidence = nil
        #expect(life.machine.pulse != nil)
        life.tell(.watchdogTriggered)
        #expect(life.machine.pulse == nil)
    }

    @Test("starvation does not excuse a trigger")
    func starvation() {
        var life = Timeline.pinging()
        life.evidence = Evidence(state: "R", runDelay: .seconds(3))
        life.at(.seconds(3), .watchdogTriggered)
        #expect(life.decisionTimes == [.seconds(3)])
    }

    @Test("a debugger delays the decision, and the trigger is kept")
    func debugger() {
        var life = Timeline(.app { $0.readiness = .none })
        life.evidence = Evidence(state: "S", tracer: 42)
        life.at(.seconds(3), .watchdogTriggered)
        life.run(to: .minutes(1))
        #expect(life.incidents == [])
        #expect(life.notices.last == .paused(.traced(by: 42)))
        life.evidence = Evidence(state: "S")
        life.run(to: .minutes(2))
        #expect(life.decisionTimes == [.minutes(1) + .milliseconds(250)])
        #expect(life.notices.contains(.resumed(after: .milliseconds(57_250))))
    }

    @Test("a termination request replaces a trigger", arguments: [ProcessEvent.terminateRequested, .stopping])
    func terminated(_ request: ProcessEvent) {
        var life = Timeline.pinging()
        life.evidence = nil
        life.at(.seconds(3), .watchdogTriggered)
        life.at(.milliseconds(3_100), request)
        life.tell(.watchdogTriggered)
        life.run(to: .seconds(8))
        #expect(life.incidents == [])
    }

    @Test("in report mode everything continues as before")
    func reported() {
        var pinged = Timeline.pinging(.reporting)
        pinged.pongTime = .milliseconds(1)
        pinged.tell(.ponged(nonce: pinged.nonces[0]))
        pinged.at(.milliseconds(3_500), .watchdogTriggered)
        pinged.run(to: .minutes(1))
        #expect(pinged.reports.map(\.cause) == [.triggered])
        #expect(pinged.pingTimes == (0...60).map { .seconds($0) })
        #expect(!pinged.machine.isInIncident)

        var launching = Timeline(.app { ($0.readiness, $0.enforcement) = (.channel, .report) })
        launching.at(.seconds(5), .watchdogTriggered)
        launching.run(to: .minutes(1))
        #expect(launching.reports.map(\.cause) == [.triggered, .exhausted])
        #expect(launching.decisionTimes == [.seconds(5), .seconds(20)])

        var pushed = Timeline.pushing(.reporting)
        pushed.at(.seconds(5), .watchdogTriggered)
        pushed.run(to: .minutes(1))
        #expect(pushed.decisionTimes == [.seconds(5), .seconds(10)])
    }

    @Test("a trigger during an incident becomes part of it", arguments: [Duration.zero, .milliseconds(1), .seconds(5)])
    func inIncident(_ delay: Duration) {
        var life = Timeline.pinging(.reporting)
        life.run(to: .seconds(10))
        life.at(.seconds(10) + delay, .watchdogTriggered)
        life.run(to: .minutes(1))
        #expect(life.reports.map(\.cause) == [.exhausted])
    }

    @Test("a deadline whose examination is pending when a trigger's capture begins is examined again")
    func examinedBelowCapture() {
        var life = Timeline.pinging(.reporting)
        life.evidence = nil
        life.at(.milliseconds(9_900), .watchdogTriggered)
        life.run(to: .seconds(10))
        life.evidence = Evidence(state: "S")
        life.run(to: .minutes(1))
        #expect(life.reports.map(\.cause) == [.triggered, .exhausted])
        #expect(life.decisionTimes == [.milliseconds(10_150), .milliseconds(10_153)])
    }
}
