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
            machine: machine.saved, account: AppAccount(status: "fine"), owed: [])
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
