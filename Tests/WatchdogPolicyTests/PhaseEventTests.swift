// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

/// Every phase with every event: an event that is not in a table has no effect.
@Suite("Every phase and every event")
struct PhaseEventTests {
    /// - Parameter examination: the latest requested id.
    private static func events(_ examination: Int) -> [(name: String, event: ProcessEvent)] {
        [
            ("launchRequested", .launchRequested), ("spawned", .spawned(pid: 7)), ("spawnFailed", .spawnFailed),
            ("hello", .hello), ("notified", .notified), ("ready", .ready(.channel)), ("probed", .probed(isReady: true)),
            ("answered", .livenessProbed(id: 1, .answered)), ("refused", .livenessProbed(id: 1, .failed("refused"))),
            ("unprobeable", .livenessProbed(id: 1, .impossible("EMFILE"))),
            ("ponged", .ponged(nonce: Timeline.pinging().nonces[0])), ("stray", .ponged(nonce: 0)),
            ("pushed", .watchdogPinged), ("triggered", .watchdogTriggered),
            ("interval", .watchdogIntervalChanged(.seconds(3))), ("intervalOff", .watchdogIntervalChanged(.zero)),
            ("extension", .extensionRequested(by: .seconds(60), progress: "1")), ("stopping", .stopping),
            ("terminate", .terminateRequested), ("stopped", .stopped), ("continued", .continued),
            ("resumed", .machineResumed(suspension: .seconds(1))), ("deadline", .deadlineReached),
            ("inspected", .inspected(id: examination, Evidence(state: "S"))),
            ("inspectedTraced", .inspected(id: examination, Evidence(state: "t", tracer: 7))),
            ("inspectedOther", .inspected(id: examination + 1, Evidence(state: "S"))),
            ("inspectedBefore", .inspected(id: examination - 1, Evidence(state: "S"))),
            ("captured", .captured), ("exited", .exited(.exited(code: 0))), ("treeEmptied", .treeEmptied),
        ]
    }

    struct Table: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let life: Timeline
        let rows: [String: String]

        init(_ description: String, _ rows: [String: String], _ begin: () -> Timeline) {
            self.testDescription = description
            self.life = begin()
            self.rows = rows
        }
    }

    @Test("are decided", arguments: tables)
    func decided(_ table: Table) {
        let events = Self.events(table.life.examination)
        #expect(Set(table.rows.keys).subtracting(events.map(\.name)) == [])
        for (name, event) in events {
            var machine = table.life.machine
            let effects = machine.handle(event, at: table.life.now)
            let summary = (effects.map(\.summary) + ["→ \(machine.phase.summary)"]).joined(separator: " ")
            let nothing = "→ \(table.life.machine.phase.summary)"
            #expect(summary == table.rows[name] ?? nothing, "\(name)")
        }
    }

    private static func silent(_ life: Timeline) -> Timeline {
        var life = life
        life.isSpawnable = false
        life.evidence = nil
        life.captureTime = nil
        life.deathTime = nil
        return life
    }

    private static func at(_ time: Duration, _ life: Timeline, _ events: ProcessEvent...) -> Timeline {
        var life = silent(life)
        life.run(to: time)
        for event in events { life.tell(event) }
        return life
    }

    /// The state after an examination with this evidence.
    private static func found(_ evidence: Evidence, _ life: Timeline) -> Timeline {
        var life = life
        life.tell(life.inspected(evidence))
        return life
    }

    /// The state while an examination of a stopped process is pending.
    private static func examined(_ life: Timeline) -> Timeline { at(life.elapsed + .milliseconds(250), life) }

    /// A single failure is a hang.
    private static func probed(_ spec: AppSpec) -> Timeline {
        var spec = spec
        spec.livenessProbe = LivenessProbe(of: "tcp:1", threshold: 1)
        var life = Timeline(spec, isLaunched: false)
        life.livenessTime = nil
        life.tell(.launchRequested)
        return life
    }

    private static let tables: [Table] = [
        Table(
            "idle",
            [
                "launchRequested": "spawn → idle",
                "spawned": "(launched) window → launching",
                "spawnFailed": "finish-spawnFailed → ended",
                "extension": "(nothingToExtend) → idle",
                "terminate": "finish-terminated → ended",
            ]
        ) { at(.zero, Timeline(isLaunched: false)) },
        Table(
            "being started",
            [
                "spawned": "(launched) window → launching",
                "spawnFailed": "finish-spawnFailed → ended",
                "extension": "(nothingToExtend) → idle",
            ]
        ) { at(.zero, Timeline(isLaunched: false), .launchRequested) },
        Table(
            "launching, not a word yet, at the deadline",
            [
                "ready": "(ready channel) → running",
                "triggered": "inspect → launching",
                "extension": "(extended) → launching",
                "stopping": "(ending) window → stopping",
                "terminate": "(ending) window terminate → terminating",
                "stopped": "(paused) → launching",
                "resumed": "(suspended) window → launching",
                "exited": "(exited) ask the tree → dying",
            ]
        ) { at(.seconds(20) - .nanosecond, Timeline()) },
        Table(
            "launching, paused",
            [
                "ready": "(resumed) (ready channel) → running",
                "triggered": "inspect → launching",
                "extension": "(extended) → launching",
                "stopping": "(resumed) (ending) window → stopping",
                "terminate": "(resumed) (ending) window terminate → terminating",
                "continued": "(resumed) → launching",
                "inspected": "(resumed) → launching",
                "inspectedTraced": "(paused) → launching",
                "exited": "(exited) ask the tree → dying",
            ]
        ) { examined(at(.seconds(1), Timeline(), .stopped)) },
        Table(
            "launching after hello, examined",
            [
                "ready": "(ready channel) window ping → running",
                "triggered": "inspect → launching",
                "extension": "(extended) → launching",
                "stopping": "(ending) window → stopping",
                "terminate": "(ending) window terminate → terminating",
                "stopped": "(paused) → launching",
                "resumed": "(suspended) window → launching",
                "inspected": "(incident) capture → capturing",
                "inspectedTraced": "(paused) → launching",
                "exited": "(exited) ask the tree → dying",
            ]
        ) { at(.seconds(20), at(.seconds(1), Timeline(), .hello)) },
        Table(
            "running, ping out",
            [
                "ponged": "(hung) → running",
                "triggered": "inspect → running",
                "extension": "(extended) → running",
                "stopping": "(ending) window → stopping",
                "terminate": "(ending) window terminate → terminating",
                "stopped": "(paused) → running",
                "resumed": "(suspended) window ping → running",
                "exited": "(exited) ask the tree → dying",
            ]
        ) { at(.seconds(1), .pinging()) },
        Table(
            "running, between two pings",
            [
                "triggered": "window inspect → running",
                "stopping": "(ending) window → stopping",
                "terminate": "(ending) window terminate → terminating",
                "exited": "(exited) ask the tree → dying",
            ]
        ) { at(.milliseconds(500), .pinging(), .ponged(nonce: Timeline.pinging().nonces[0])) },
        Table(
            "running, ping missed, examined",
            [
                "ponged": "(hung) → running",
                "triggered": "inspect → running",
                "extension": "(extended) → running",
                "stopping": "(ending) window → stopping",
                "terminate": "(ending) window terminate → terminating",
                "stopped": "(paused) → running",
                "resumed": "(suspended) window ping → running",
                "inspected": "(incident) capture → capturing",
                "inspectedTraced": "(paused) → running",
                "exited": "(exited) ask the tree → dying",
            ]
        ) { at(.seconds(10), .pinging()) },
        Table(
            "running, ping missed, traced",
            [
                "ponged": "(resumed) → running",
                "triggered": "inspect → running",
                "extension": "(extended) → running",
                "stopping": "(resumed) (ending) window → stopping",
                "terminate": "(resumed) (ending) window terminate → terminating",
                "inspected": "(resumed) window ping → running",
                "exited": "(exited) ask the tree → dying",
            ]
        ) { examined(found(Evidence(state: "t", tracer: 7), at(.seconds(10), .pinging()))) },
        Table(
            "running, pushing",
            [
                "hello": "window ping → running",
                "pushed": "window → running",
                "triggered": "inspect → running",
                "interval": "window → running",
                "extension": "(extended) → running",
                "stopping": "(ending) window → stopping",
                "terminate": "(ending) window terminate → terminating",
                "stopped": "(paused) → running",
                "resumed": "(suspended) window → running",
                "exited": "(exited) ask the tree → dying",
            ]
        ) { at(.seconds(1), .pushing()) },
        Table(
            "running, neither pinged nor pushing",
            [
                "hello": "window ping → running",
                "pushed": "window → running",
                "triggered": "window inspect → running",
                "interval": "window → running",
                "extension": "(nothingToExtend) → running",
                "stopping": "(ending) window → stopping",
                "terminate": "(ending) window terminate → terminating",
                "exited": "(exited) ask the tree → dying",
            ]
        ) { at(.seconds(1), Timeline(.app { $0.readiness = .none })) },
        Table(
            "launching by a probe",
            [
                "answered": "(ready probe) → running",
                "unprobeable": "(impossible) → launching",
                "triggered": "inspect → launching",
                "extension": "(extended) → launching",
                "stopping": "unask (ending) window → stopping",
                "terminate": "unask (ending) window terminate → terminating",
                "stopped": "(paused) → launching",
                "resumed": "(suspended) window unask ask → launching",
                "exited": "(exited) unask ask the tree → dying",
            ]
        ) { at(.milliseconds(26), probed(.app { $0.readiness = .probe })) },
        Table(
            "running, probed",
            [
                "hello": "window ping → running",
                "answered": "→ running",
                "refused": "(unanswered) inspect → running",
                "unprobeable": "(impossible) → running",
                "pushed": "window → running",
                "triggered": "window inspect → running",
                "interval": "window → running",
                "stopping": "unask (ending) window → stopping",
                "terminate": "unask (ending) window terminate → terminating",
                "resumed": "unask window ask → running",
                "exited": "(exited) unask ask the tree → dying",
            ]
        ) { at(.seconds(1), probed(.app { $0.readiness = .none })) },
        Table(
            "running, between two probes",
            [
                "hello": "window ping → running",
                "pushed": "window → running",
                "triggered": "window inspect → running",
                "interval": "window → running",
                "stopping": "(ending) window → stopping",
                "terminate": "(ending) window terminate → terminating",
                "exited": "(exited) ask the tree → dying",
            ]
        ) { at(.seconds(1), probed(.app { $0.readiness = .none }), .livenessProbed(id: 1, .answered)) },
        Table(
            "running, probes failed, examined",
            [
                "hello": "window ping → running",
                "pushed": "window → running",
                "triggered": "window inspect → running",
                "interval": "window → running",
                "stopping": "(ending) window → stopping",
                "terminate": "(ending) window terminate → terminating",
                "stopped": "(probe paused) → running",
                "resumed": "ask → running",
                "inspected": "(incident) capture → capturing",
                "inspectedTraced": "(probe paused) → running",
                "exited": "(exited) ask the tree → dying",
            ]
        ) { at(.seconds(1), probed(.app { $0.readiness = .none }), .livenessProbed(id: 1, .failed("refused"))) },
        Table(
            "running, probes failed, stopped",
            [
                "hello": "window ping → running",
                "pushed": "window → running",
                "triggered": "window inspect → running",
                "interval": "window → running",
                "stopping": "(ending) window → stopping",
                "terminate": "(ending) window terminate → terminating",
                "continued": "(probe resumed) window ask → running",
                "inspected": "(probe resumed) window ask → running",
                "inspectedTraced": "(probe paused) → running",
                "exited": "(exited) ask the tree → dying",
            ]
        ) {
            examined(
                at(
                    .seconds(1), probed(.app { $0.readiness = .none }), .livenessProbed(id: 1, .failed("refused")),
                    .stopped))
        },
        Table(
            "running, triggered",
            [
                "ponged": "(hung) → running",
                "extension": "(extended) → running",
                "stopping": "(ending) window → stopping",
                "terminate": "(ending) window terminate → terminating",
                "stopped": "(paused) → running",
                "resumed": "(suspended) window ping → running",
                "inspected": "(incident) capture → capturing",
                "inspectedTraced": "(paused) → running",
                "exited": "(exited) ask the tree → dying",
            ]
        ) { at(.seconds(1), .pinging(), .watchdogTriggered) },
        Table(
            "stopping by its own will",
            [
                "extension": "(extended) → stopping",
                "terminate": "(ending) terminate → terminating",
                "stopped": "(paused) → stopping",
                "resumed": "(suspended) window → stopping",
                "exited": "(exited) ask the tree → dying",
            ]
        ) { at(.seconds(1), .pinging(), .stopping) },
        Table(
            "asked to end",
            [
                "extension": "(extended) → terminating",
                "terminate": "kill → dying",
                "resumed": "(suspended) window → terminating",
                "exited": "(exited) ask the tree → dying",
            ]
        ) { at(.seconds(1), .pinging(), .terminateRequested) },
        Table(
            "asked to end, examined",
            [
                "extension": "(extended) → terminating",
                "terminate": "kill → dying",
                "resumed": "(suspended) window → terminating",
                "inspected": "(incident) capture → capturing",
                "inspectedTraced": "(paused) → terminating",
                "exited": "(exited) ask the tree → dying",
            ]
        ) { at(.seconds(5), at(.zero, .pinging(), .terminateRequested)) },
        Table(
            "capturing to kill",
            [
                "captured": "kill → dying",
                "exited": "(exited) → capturing",
            ]
        ) { found(Evidence(state: "S"), at(.seconds(10), .pinging())) },
        Table(
            "capturing to report",
            [
                "ponged": "(hung) → capturing",
                "extension": "(nothingToExtend) → capturing",
                "stopping": "(ending) window → capturing",
                "terminate": "(ending) window terminate → capturing",
                "captured": "report → running",
                "exited": "(exited) → capturing",
            ]
        ) { found(Evidence(state: "S"), at(.seconds(10), .pinging(.reporting))) },
        Table(
            "capturing to report, dead",
            [
                "captured": "report ask the tree → dying"
            ]
        ) { at(.seconds(10), found(Evidence(state: "S"), at(.seconds(10), .pinging(.reporting))), .exited(.unknown)) },
        Table(
            "reported and still hung",
            [
                "ponged": "(hung) → running",
                "extension": "(nothingToExtend) → running",
                "stopping": "(ending) window → stopping",
                "terminate": "(ending) window terminate → terminating",
                "exited": "(exited) ask the tree → dying",
            ]
        ) { at(.seconds(10), found(Evidence(state: "S"), at(.seconds(10), .pinging(.reporting))), .captured) },
        Table(
            "dying after its exit",
            [
                "terminate": "kill → dying",
                "resumed": "(suspended) window → dying",
                "treeEmptied": "finish-exited → ended",
            ]
        ) { at(.seconds(1), .pinging(), .exited(.exited(code: 1))) },
        Table(
            "examined after its exit",
            [
                "terminate": "kill → dying",
                "resumed": "(suspended) window → dying",
                "inspected": "kill → dying",
                "inspectedTraced": "(paused) → dying",
                "treeEmptied": "finish-exited → ended",
            ]
        ) {
            var life = silent(.pinging())
            life.leftoverTime = nil
            life.at(.seconds(1), .exited(.exited(code: 1)))
            life.run(to: .seconds(6))
            return life
        },
        Table(
            "killed after its exit",
            [
                "treeEmptied": "finish-exited → ended"
            ]
        ) { at(.seconds(1), .pinging(), .exited(.exited(code: 1)), .terminateRequested) },
        Table(
            "dying for an incident",
            [
                "exited": "(exited) → dying"
            ]
        ) { at(.seconds(10), found(Evidence(state: "S"), at(.seconds(10), .pinging())), .captured) },
        Table("ended", [:]) { at(.zero, Timeline(isLaunched: false), .terminateRequested) },
    ]
}
