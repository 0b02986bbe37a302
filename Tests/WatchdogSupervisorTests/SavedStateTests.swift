// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing
import WatchdogBase
import WatchdogPolicy
import WatchdogReport

@testable import WatchdogDaemon
@testable import WatchdogLaunch
@testable import WatchdogRun

/// Launches as this version saves them, kept as files, so that a change of the format is noticed and older state can
/// still be resumed.
///
/// `WATCHDOGD_UPDATE_GOLDENS=1` rewrites the files.
@Suite("Saved launches")
struct SavedStateTests {
    struct Life: Sendable, CustomTestStringConvertible {
        let name: String
        let spec: AppSpec
        /// Events by seconds after the launch.
        let events: [(Double, ProcessEvent)]
        /// When the supervisor returns, in seconds after the launch.
        let returns: Double
        /// The machine's effects at that time.
        let effects: [String]
        /// The next deadline in milliseconds after the launch; nil if there is none.
        let next: Int64?

        var testDescription: String { name }
    }

    private static let start = Instant(nanoseconds: 1_000_000_000_000)

    private static func spec(_ change: (inout AppSpec) -> Void) -> AppSpec {
        var spec = AppSpec(name: "App")
        change(&spec)
        return spec
    }

    private static let ready: [(Double, ProcessEvent)] = [(0, .hello), (0, .ready(.channel))]
    private static let joined: [(Double, ProcessEvent)] = [(0, .lifecycle(.joined)), (0, .ready(.channel))]
    private static let probed = spec {
        $0.readiness = .none
        $0.livenessProbe = LivenessProbe(of: "tcp:1", threshold: 2)
    }
    private static let reporting = AppSpec(name: "App", enforcement: .report)

    static let lives: [Life] = [
        Life(
            name: "launching", spec: spec { $0.readiness = .notify },
            events: [(1, .extensionRequested(by: .seconds(30), progress: "1 %"))],
            returns: 2, effects: [], next: 31_000),
        Life(
            name: "launching-examined", spec: spec { $0.readiness = .notify }, events: [(20, .deadlineReached)],
            returns: 20.1, effects: ["inspect(id: 2)"], next: 20_350),
        Life(
            name: "running", spec: AppSpec(name: "App"), events: ready, returns: 4, effects: [], next: 10_000),
        Life(
            name: "running-overdue", spec: AppSpec(name: "App"), events: ready, returns: 12, effects: ["sendPing"],
            next: 12_250),
        Life(
            name: "pushing", spec: AppSpec(name: "App"),
            events: [(0, .ready(.notify)), (1, .watchdogIntervalChanged(.seconds(3)))], returns: 2, effects: [],
            next: 4_000),
        Life(
            name: "stopped", spec: AppSpec(name: "App"), events: ready + [(4, .stopped)], returns: 5,
            effects: ["inspect(id: 1)"], next: 5_250),
        Life(
            name: "probes-failing", spec: probed,
            events: [(0, .deadlineReached), (1, .livenessProbed(id: 1, .failed("refused")))], returns: 2, effects: [],
            next: 3_000),
        Life(
            name: "probes-examined", spec: probed,
            events: [
                (0, .deadlineReached), (1, .livenessProbed(id: 1, .failed("refused"))), (3, .deadlineReached),
                (4, .livenessProbed(id: 2, .failed("refused"))),
            ], returns: 5, effects: [], next: 5_000),
        Life(
            name: "triggered", spec: AppSpec(name: "App"), events: ready + [(1, .watchdogTriggered)], returns: 2,
            effects: ["inspect(id: 2)"], next: 2_250),
        Life(
            name: "background", spec: AppSpec(name: "App"),
            events: joined + [
                (0, .ponged(nonce: 0xe220_a839_7b1d_cdaf)), (1, .lifecycle(.taskBegan(id: 1, name: "save"))),
                (1, .lifecycle(.requested(.background))), (1, .lifecycle(.stateDone(1))),
                (1, .lifecycle(.measured(ResourceUse(cpuTime: .seconds(1), runDelay: .milliseconds(5))))),
            ], returns: 2, effects: [], next: 1_000),
        Life(
            name: "entering-background", spec: AppSpec(name: "App"),
            events: joined + [
                (0, .ponged(nonce: 0xe220_a839_7b1d_cdaf)), (1, .lifecycle(.requested(.background))),
                (1, .lifecycle(.requested(.event(kind: "push", payload: "x")))),
            ], returns: 2, effects: ["lifecycle(enter)"], next: 6_000),
        Life(
            name: "suspended", spec: AppSpec(name: "App"),
            events: joined + [
                (1, .lifecycle(.requested(.suspend))), (1, .lifecycle(.stateDone(1))),
                (1, .lifecycle(.froze(locks: []))),
            ], returns: 3_600, effects: ["lifecycle(freeze)"], next: nil),
        Life(
            name: "terminating", spec: AppSpec(name: "App"), events: ready + [(1, .terminateRequested)], returns: 2,
            effects: ["terminate"], next: 6_000),
        Life(
            name: "capturing", spec: AppSpec(name: "App"),
            events: ready + [(10, .deadlineReached), (10, .inspected(id: 1, Evidence(state: "S")))], returns: 11,
            effects: ["capture"], next: 13_000),
        Life(
            name: "reported", spec: reporting,
            events: ready + [
                (10, .deadlineReached), (10, .inspected(id: 1, Evidence(state: "S"))), (11, .captured),
            ], returns: 12, effects: [], next: nil),
        Life(
            name: "dying", spec: AppSpec(name: "App"),
            events: ready + [
                (10, .deadlineReached), (10, .inspected(id: 1, Evidence(state: "S"))), (10, .captured),
            ], returns: 60, effects: ["killTree"], next: 62_000),
        Life(
            name: "left-behind", spec: AppSpec(name: "App"), events: ready + [(10, .exited(.exited(code: 0)))],
            returns: 12, effects: ["terminateTree"], next: 15_000),
        Life(
            name: "ended", spec: AppSpec(name: "App"),
            events: ready + [
                (10, .deadlineReached), (10, .inspected(id: 1, Evidence(state: "S"))), (10, .captured),
                (10, .exited(.signaled(signal: 9, coreDumped: false))), (10, .treeEmptied),
            ], returns: 60, effects: [], next: nil),
    ]

    private static func instant(_ seconds: Double) -> Instant {
        start + .milliseconds(Int64(seconds * 1_000))
    }

    private static func machine(_ life: Life) -> ProcessMachine {
        var machine = ProcessMachine(spec: life.spec, nonceSeed: 0)
        _ = machine.handle(.launchRequested, at: start)
        _ = machine.handle(.spawned(pid: 42), at: start)
        for (seconds, event) in life.events { _ = machine.handle(event, at: instant(seconds)) }
        return machine
    }

    private static func state(_ life: Life) throws -> LaunchState {
        let machine = machine(life)
        let id = try #require(IncidentID("00000000-0000-4000-8000-000000000001"))
        let pending = machine.incidents.map { LaunchState.PendingReport(incident: $0, report: id) }
        return LaunchState(
            launchID: id,
            process: .init(
                pid: 42, startTime: 7, launchedAt: start, launchTime: .init(seconds: 1_700_000_000), thread: 43),
            cgroup: "/sys/fs/cgroup/x", notifyAddress: "/run/watchdogd/serve/notify-1",
            descriptors: .init(channel: 9, notify: 10, process: 11), suspendedTime: .seconds(3),
            program: .init(
                executable: "/bin/app", arguments: ["/bin/app"], environment: ["A=b"], workingDirectory: "/", user: 1,
                group: 2, groups: [3], probe: .listening("*:80"), takesCrashStacks: true),
            machine: machine.saved, account: AppAccount(status: "fine"), pendingReports: pending)
    }

    @Test("are written as they always were", arguments: lives)
    func bytes(_ life: Life) throws {
        let bytes = try Self.state(life).encoded()
        let file = StateFixture.launch(life.name)
        if StateFixture.areUpdated { try Data(bytes).write(to: file) }
        #expect(try Array(Data(contentsOf: file)) == bytes, "the format has changed: raise LaunchState.format")
    }

    @Test("are resumed where they stopped", arguments: lives)
    func resumed(_ life: Life) throws {
        let state = try LaunchState.decode(Array(Data(contentsOf: StateFixture.launch(life.name))))
        let original = Self.machine(life)
        #expect(state.pendingReports.map(\.incident) == original.incidents)
        var machine = try #require(ProcessMachine(resuming: state.machine))
        #expect(machine.phase == original.phase)
        #expect(machine.lifecycleState == original.lifecycleState)
        let effects = machine.handle(.supervisorReturned(isLastStepDone: false), at: Self.instant(life.returns))
        #expect(effects.filter { if case .announce = $0 { false } else { true } }.map(Self.summary) == life.effects)
        #expect(machine.nextDeadline.map { ($0 - Self.start).nanoseconds / 1_000_000 } == life.next)
    }

    private static func summary(_ effect: ProcessEffect) -> String {
        switch effect {
        case .inspect(let id): "inspect(id: \(id))"
        case .sendPing: "sendPing"
        case .capture: "capture"
        case .lifecycle(.enter): "lifecycle(enter)"
        case .lifecycle(.freeze): "lifecycle(freeze)"
        default: "\(effect)".split(separator: ".").last.map(String.init) ?? ""
        }
    }
}
