// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogReportStore

@testable import WatchdogDaemon
@testable import WatchdogLaunch
@testable import WatchdogRun

@Suite("The state of a launch")
struct LaunchStateTests {
    private static let start = Instant(nanoseconds: 1_000_000_000_000)

    private func state(_ machine: ProcessMachine, arguments: [String] = ["/bin/app", "x y", "ü"]) -> LaunchState {
        LaunchState(
            launchID: .random(),
            process: .init(
                pid: 42, startTime: 7, launchedAt: Self.start, launchTime: .init(seconds: 1_700_000_000), thread: 43),
            cgroup: "/sys/fs/cgroup/x", notifyAddress: "/run/watchdogd/serve/notify-1",
            descriptors: .init(channel: 9, notify: 10, process: 11),
            suspendedTime: .seconds(3),
            program: .init(
                executable: "/bin/app", arguments: arguments, environment: ["A=b", "C=d=e"], workingDirectory: "/",
                user: 1, group: 2, groups: [3], probe: .listening("*:80"), takesCrashStacks: true),
            machine: machine.saved, account: AppAccount(status: "fine"), pendingReports: [])
    }

    private func running() -> ProcessMachine {
        var machine = ProcessMachine(spec: AppSpec(name: "app"), nonceSeed: .max)
        for event: ProcessEvent in [.launchRequested, .spawned(pid: 42), .hello, .ready(.channel)] {
            _ = machine.handle(event, at: Self.start)
        }
        return machine
    }

    @Test("survives encoding and decoding")
    func roundTrip() throws {
        let original = state(running())
        let copy = try LaunchState.decode(try original.encoded())
        #expect(copy.machine == original.machine)
        #expect(copy.account == original.account)
        #expect(copy.launchID == original.launchID)
        #expect(copy.descriptors.all == [9, 10, 11])
        let configuration = LaunchConfiguration(resuming: copy, store: ReportStore(directory: "/nowhere"))
        #expect(configuration.launchID == original.launchID)
        #expect(configuration.arguments.map(\.description) == ["/bin/app", "x y", "ü"])
        #expect(configuration.environment["C"] == "d=e")
        #expect(configuration.credentials == Credentials(user: 1, group: 2, supplementaryGroups: [3]))
        #expect(configuration.takesCrashStacks)
        #expect({ if case .listening(.tcp(.any, port: 80))? = configuration.probe { true } else { false } }())
    }

    @Test("is small for an ordinary app")
    func size() throws {
        #expect(try state(running()).encoded().count < 8_192)
    }

    @Test("a pulse survives encoding and decoding")
    func pulse() throws {
        var pulse = LaunchPulse()
        #expect(LaunchPulse(pulse.bytes) == pulse)
        pulse.machine = running().pulse
        #expect(pulse.machine != nil)
        pulse.window = .init(
            at: Self.start, processCPUTime: .milliseconds(3),
            schedule: ThreadSchedule(runTime: .seconds(1), runDelay: .microseconds(5), timeslices: .max))
        pulse.pingsSent = 3
        pulse.signsOfLife = 2
        pulse.lastSignOfLife = Self.start
        pulse.thread = 43
        #expect(LaunchPulse(pulse.bytes) == pulse)
        #expect(pulse.bytes.count <= StateFile.longestPulse)
        pulse.machine?.unanswered = [UInt64](repeating: .max, count: ProcessMachine.Pulse.nonceLimit)
        pulse.machine?.startedAt = nil
        #expect(LaunchPulse(pulse.bytes) == pulse)
    }

    @Test("invalid bytes do not decode to a pulse")
    func hostilePulse() {
        #expect(LaunchPulse([]) == nil)
        #expect(LaunchPulse([UInt8](repeating: 0xff, count: LaunchPulse.byteCount)) == nil)
        #expect(LaunchPulse([UInt8](repeating: 0, count: LaunchPulse.byteCount + 1)) == nil)
    }

    @Test("is saved in full when it changes, and as a pulse if only a ping was answered")
    func keeping() throws {
        try withTemporaryDirectory { directory in
            let path = "\(directory)/a.launch"
            let keeper = LaunchKeeper(.random(), creating: path)
            var machine = running()
            var now = Self.start
            var checkpoints = 0
            func keep() {
                keeper.keep(&machine, at: now, pulse: { Self.pulse($0) }) { machine in
                    checkpoints += 1
                    return state(machine)
                }
            }
            keep()
            #expect(checkpoints == 1)
            for _ in 0..<50 {
                for nonce in machine.pulse?.unanswered ?? [] { _ = machine.handle(.ponged(nonce: nonce), at: now) }
                keep()
                now = try #require(machine.nextDeadline)
                _ = machine.handle(.deadlineReached, at: now)
                keep()
            }
            #expect(checkpoints == 1, "fifty pings are fifty pulses")
            let contents = try StateFile(opening: path, upTo: LaunchState.format).contents()
            let saved = try LaunchState.decode(contents.checkpoint).machine
            let pulse = try #require(contents.pulse.flatMap { LaunchPulse($0) })
            let resumed = try #require(ProcessMachine(resuming: saved, pulse: pulse.machine))
            #expect(resumed.nextDeadline == machine.nextDeadline)
            #expect(resumed.pulse == machine.pulse)
            _ = machine.handle(.terminateRequested, at: now)
            keep()
            #expect(checkpoints == 2)
            #expect(keeper.failure == nil)
        }
    }

    /// A launch up to its process, in a file of its own; `saves` counts how often the whole state was asked for.
    private final class Spawning {
        let keeper: LaunchKeeper
        let loop: EventLoop
        var machine = ProcessMachine(spec: AppSpec(name: "app"), nonceSeed: .max)
        var saves = 0
        private let state: (ProcessMachine) -> LaunchState

        init(_ path: String, _ state: @escaping (ProcessMachine) -> LaunchState) throws {
            keeper = LaunchKeeper(.random(), creating: path)
            loop = try EventLoop()
            self.state = state
            _ = machine.handle(.launchRequested, at: LaunchStateTests.start)
            keeper.prepare(state(machine), at: LaunchStateTests.start, spawns: true)
            keep()
        }

        func keep() {
            keeper.keep(&machine, at: LaunchStateTests.start, pulse: { LaunchStateTests.pulse($0) }) { machine in
                saves += 1
                return state(machine)
            }
        }

        func spawned() {
            keeper.setDirty()
            keeper.postpone(on: loop) { [unowned self] in keep() }
            _ = machine.handle(.spawned(pid: 42), at: LaunchStateTests.start)
            keep()
        }

        func idle() throws { for _ in 0..<3 { _ = try loop.runOnce(limit: .zero) } }
    }

    private func contents(_ path: String) throws -> StateFile.Contents {
        try StateFile(opening: path, upTo: LaunchState.format).contents()
    }

    @Test("between the request for a process and the process, nothing is written twice")
    func spawning() throws {
        try withTemporaryDirectory { directory in
            let spawning = try Spawning("\(directory)/a.launch") { state($0) }
            #expect(spawning.saves == 0)
            #expect(try contents("\(directory)/a.launch").pulse == nil)
            // Anything else counts.
            _ = spawning.machine.handle(.terminateRequested, at: Self.start)
            spawning.keep()
            #expect(spawning.saves == 1)
        }
    }

    @Test("that a process runs is saved when the loop has nothing else to do, and only then")
    func postponed() throws {
        try withTemporaryDirectory { directory in
            let spawning = try Spawning("\(directory)/a.launch") { state($0) }
            spawning.spawned()
            #expect(spawning.saves == 0)
            try spawning.idle()
            #expect(spawning.saves == 1)
            let saved = try LaunchState.decode(try contents("\(directory)/a.launch").checkpoint).machine
            #expect(saved == spawning.machine.saved)
            try spawning.idle()
            #expect(spawning.saves == 1)
        }
    }

    @Test("that a process runs is saved at once with what it says, and not again")
    func overtaken() throws {
        try withTemporaryDirectory { directory in
            let spawning = try Spawning("\(directory)/a.launch") { state($0) }
            spawning.spawned()
            _ = spawning.machine.handle(.ready(.notify), at: Self.start)
            spawning.keep()
            #expect(spawning.saves == 1)
            let contents = try contents("\(directory)/a.launch")
            #expect(try LaunchState.decode(contents.checkpoint).machine == spawning.machine.saved)
            #expect(contents.pulse != nil)
            try spawning.idle()
            #expect(spawning.saves == 1)
        }
    }

    @Test("that a process runs is saved with its irrevocable end, and not again")
    func overtakenByEnd() throws {
        try withTemporaryDirectory { directory in
            let spawning = try Spawning("\(directory)/a.launch") { state($0) }
            spawning.spawned()
            spawning.keeper.prepare(state(spawning.machine), at: Self.start)
            try spawning.idle()
            #expect(spawning.saves == 0)
            let saved = try LaunchState.decode(try contents("\(directory)/a.launch").checkpoint).machine
            #expect(saved == spawning.machine.saved)
        }
    }

    private static func pulse(_ machine: ProcessMachine.Pulse?) -> LaunchPulse {
        var pulse = LaunchPulse()
        pulse.machine = machine
        return pulse
    }

    @Test("omits an environment that does not fit")
    func tooLong() throws {
        let path = "/tmp/watchdogd-state-\(UInt64.random(in: 0 ... .max)).launch"
        defer { unlink(path) }
        let keeper = LaunchKeeper(.random(), creating: path)
        var long = state(running())
        long.program.environment = ["A=" + String(repeating: "x", count: LaunchState.capacity)]
        keeper.prepare(long, at: Self.start)
        let contents = try StateFile(opening: path, upTo: LaunchState.format).contents()
        #expect(contents.pulse == nil)
        let read = try LaunchState.decode(contents.checkpoint)
        #expect(read.program.environment == [])
        #expect(read.machine == long.machine)
    }
}
