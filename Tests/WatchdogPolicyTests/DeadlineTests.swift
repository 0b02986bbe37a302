// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

/// An allowance, how it is started, and what satisfies it.
struct DeadlineCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let event: WatchdogEvent
    let allowance: Duration
    let deadline: Duration
    let spared: ProcessEvent
    private let begin: @Sendable (AppSpec.Enforcement) -> Timeline

    init(
        _ description: String, _ event: WatchdogEvent, allowance: Duration, deadline: Duration, spared: ProcessEvent,
        _ begin: @escaping @Sendable (AppSpec.Enforcement) -> Timeline
    ) {
        self.testDescription = description
        self.event = event
        self.allowance = allowance
        self.deadline = deadline
        self.spared = spared
        self.begin = begin
    }

    var life: Timeline { begin(.kill) }
    var reportedLife: Timeline { begin(.report) }

    static let all: [DeadlineCase] = [
        .init(
            "launch, sd_notify spoken", .processLaunch, allowance: .seconds(20), deadline: .seconds(20),
            spared: .ready(.notify)
        ) { enforcement in
            var life = Timeline(.app { $0.enforcement = enforcement })
            life.at(.seconds(1), .notified)
            return life
        },
        .init(
            "launch, READY=1 demanded", .processLaunch, allowance: .seconds(3), deadline: .seconds(3),
            spared: .ready(.channel)
        ) { enforcement in
            Timeline(
                .app { ($0.readiness, $0.allowances.launch, $0.enforcement) = (.channel, .seconds(3), enforcement) })
        },
        .init(
            "launch, probed", .processLaunch, allowance: .seconds(20), deadline: .seconds(20),
            spared: .probed(isReady: true)
        ) { enforcement in
            Timeline(.app { ($0.readiness, $0.enforcement) = (.listening, enforcement) })
        },
        .init(
            "scene-create has what process-launch left", .sceneCreate, allowance: .milliseconds(12_500),
            deadline: .seconds(20), spared: .ready(.channel)
        ) { enforcement in
            var life = Timeline(.app { $0.enforcement = enforcement })
            life.at(.milliseconds(7_500), .hello)
            return life
        },
        .init(
            "update, by ping", .sceneUpdate, allowance: .seconds(10), deadline: .seconds(10),
            spared: .ponged(nonce: Timeline.pinging().nonces[0])
        ) { enforcement in
            Timeline.pinging(.app { $0.enforcement = enforcement })
        },
        .init(
            "update, by push", .sceneUpdate, allowance: .seconds(10), deadline: .seconds(10), spared: .watchdogPinged
        ) { enforcement in
            Timeline.pushing(.app { $0.enforcement = enforcement })
        },
        .init(
            "update, by push, WATCHDOG_USEC=", .sceneUpdate, allowance: .milliseconds(1_234),
            deadline: .milliseconds(1_234), spared: .watchdogPinged
        ) { enforcement in
            Timeline.pushing(.app { $0.enforcement = enforcement }, every: .milliseconds(1_234))
        },
        .init(
            "end, requested", .processExit, allowance: .seconds(5), deadline: .seconds(6),
            spared: .exited(.exited(code: 0))
        ) { enforcement in
            var life = Timeline(.app { ($0.readiness, $0.enforcement) = (.none, enforcement) })
            life.at(.seconds(1), .terminateRequested)
            return life
        },
        .init(
            "end, by its own will", .processExit, allowance: .seconds(5), deadline: .seconds(6),
            spared: .exited(.exited(code: 0))
        ) { enforcement in
            var life = Timeline.pinging(.app { $0.enforcement = enforcement })
            life.at(.seconds(1), .stopping)
            return life
        },
    ]
}

@Suite("Every deadline")
struct DeadlineTests {
    @Test("is kept to the nanosecond, and the incident names it", arguments: DeadlineCase.all)
    func acts(on deadline: DeadlineCase) throws {
        var life = deadline.life
        life.run(to: deadline.deadline - .nanosecond)
        #expect(life.incidents == [])
        life.run(to: deadline.deadline)
        let incident = try #require(life.incidents.first)
        #expect(life.decisionTimes == [deadline.deadline])
        #expect(incident.event == deadline.event)
        #expect(incident.cause == .exhausted)
        #expect(incident.allowance == deadline.allowance)
        #expect(incident.deadline - incident.startedAt == deadline.allowance)
        #expect(incident.decidedAt == incident.deadline)
        #expect(incident.evidence == Evidence(state: "S"))
        #expect(life.machine.phase == .capturing(incident))
    }

    @Test("ends in a verified death and one report", arguments: DeadlineCase.all)
    func ends(on deadline: DeadlineCase) {
        var life = deadline.life
        life.run(to: .minutes(10))
        #expect(life.reports.map(\.isDeathVerified) == [true])
        #expect(life.reports.first.map { .watchdog($0) } == life.outcome?.cause)
        #expect(life.nextDeadline == nil)
    }

    @Test("spares an app that acts a nanosecond before it", arguments: DeadlineCase.all)
    func sparesBefore(_ deadline: DeadlineCase) {
        var life = deadline.life
        life.at(deadline.deadline - .nanosecond, deadline.spared)
        life.run(to: deadline.deadline + .milliseconds(500))
        #expect(life.incidents == [])
    }

    @Test("spares an app that acts in the same instant", arguments: DeadlineCase.all)
    func sparesInTheSameInstant(_ deadline: DeadlineCase) {
        var life = deadline.life
        life.at(deadline.deadline, deadline.spared)
        life.run(to: deadline.deadline + .milliseconds(500))
        #expect(life.incidents == [])
    }

    @Test("spares an app that acts during the examination", arguments: DeadlineCase.all)
    func sparesDuringExamination(_ deadline: DeadlineCase) {
        var life = deadline.life
        life.inspectionTime = .milliseconds(200)
        life.at(deadline.deadline + .milliseconds(199), deadline.spared)
        life.run(to: deadline.deadline + .milliseconds(500))
        #expect(life.incidents == [])
    }

    @Test("is not moved by a timer that fires early", arguments: DeadlineCase.all)
    func earlyTimer(_ deadline: DeadlineCase) {
        var life = deadline.life
        life.at(deadline.deadline - .nanosecond, .deadlineReached)
        #expect(life.incidents == [])
        #expect(life.nextDeadline.map { $0 <= deadline.deadline } ?? false)
        life.run(to: deadline.deadline)
        #expect(life.decisionTimes == [deadline.deadline])
    }
}
