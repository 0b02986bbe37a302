// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogReportStore

/// Everything the next watchdogd needs to resume a launch.
struct LaunchState: Codable {
    /// The version of this structure; a newer one is not read.
    ///
    /// Adding optional fields needs no new version: they are nil when read from an older file.
    static let format: UInt32 = 4
    /// Enough for an app with a long environment and many incidents.
    static let capacity = 4 << 20

    /// The main process.
    struct Process: Codable {
        var pid: Int32
        var startTime: UInt64?
        var launchedAt: Instant
        var launchTime: WallTime
        /// The thread that runs the main loop.
        var thread: Int32?

        private enum CodingKeys: String, CodingKey { case pid, startTime, launchedAt, launchTime, thread }
    }

    /// Descriptor numbers, for a process that re-executes itself.
    struct Descriptors: Codable {
        var channel: Int32?
        var notify: Int32
        var process: Int32?

        private enum CodingKeys: String, CodingKey { case channel, notify, process }

        var all: [Int32] { [channel, notify, process].compactMap(\.self) }
    }

    /// What was launched, for the report and for readiness probes.
    struct Program: Codable {
        enum Probe: Codable {
            case listening(String)
            case command(String)

            private enum CodingKeys: String, CodingKey { case listening, command }
        }

        var executable: String
        var arguments: [String]
        var environment: [String]
        var workingDirectory: String?
        var user: UInt32?
        var group: UInt32?
        var groups: [UInt32]
        var probe: Probe?
        var livenessTarget: ProbeSettings.Target?
        var takesCrashStacks: Bool

        private enum CodingKeys: String, CodingKey {
            case executable, arguments, environment, workingDirectory, user, group, groups, probe, livenessTarget,
                takesCrashStacks
        }
    }

    var launchID: IncidentID
    /// Nil until the process runs.
    var process: Process?
    /// The cgroup that holds the processes; nil if there is none.
    var cgroup: String?
    var notifyAddress: String
    var descriptors: Descriptors
    var suspendedTime: Duration
    var program: Program
    var machine: SavedProcess
    var account: AppAccount
    /// Incidents whose reports are not written yet, with the ids of those reports.
    var owed: [OwedReport]
    /// The id of a crash report that is not written yet.
    var owedCrash: IncidentID?
    /// The reload in progress.
    var reload: KeptReload?
    /// Commands whose end nobody waits for.
    var commands: [KeptCommand]?

    private enum CodingKeys: String, CodingKey {
        case launchID, process, cgroup, notifyAddress, descriptors, suspendedTime, program, machine, account, owed,
            owedCrash, reload, commands
    }

    struct OwedReport: Codable, Hashable {
        var incident: Incident
        var report: IncidentID

        private enum CodingKeys: String, CodingKey { case incident, report }
    }

    var name: String { machine.spec.name }

    func encoded() throws -> [UInt8] { try StateEncoder.encode(self) }

    static func decode(_ bytes: [UInt8]) throws -> LaunchState {
        try StateDecoder.decode(LaunchState.self, from: bytes)
    }
}

extension LaunchState.Program {
    init(_ configuration: LaunchConfiguration) {
        executable = configuration.executable
        arguments = configuration.arguments.map(\.description)
        environment = configuration.environment.entries.map(\.description)
        workingDirectory = configuration.workingDirectory
        user = configuration.credentials?.user
        group = configuration.credentials?.group
        groups = configuration.credentials?.supplementaryGroups ?? []
        probe =
            switch configuration.probe {
            case .listening(let address): .listening(address.description)
            case .command(let command): .command(command)
            case nil: nil
            }
        livenessTarget = configuration.livenessTarget
        takesCrashStacks = configuration.takesCrashStacks
    }
}

extension LaunchConfiguration {
    /// The configuration of a launch of the previous watchdogd.
    init(resuming state: LaunchState, store: ReportStore) {
        let program = state.program
        var credentials: Credentials?
        if let user = program.user, let group = program.group {
            credentials = Credentials(user: user, group: group, supplementaryGroups: program.groups)
        }
        let probe: Probe? =
            switch program.probe {
            case .listening(let text): (try? NetworkAddress(parsing: text)).map { .listening($0) }
            case .command(let command): .command(command)
            case nil: nil
            }
        self.init(
            sharedSpec: state.machine.$spec,
            executable: program.executable,
            arguments: program.arguments.map { ByteString($0) },
            environment: Environment(entries: program.environment.map { ByteString($0) }),
            workingDirectory: program.workingDirectory,
            credentials: credentials,
            probe: probe,
            livenessTarget: program.livenessTarget,
            store: store
        )
        launchID = state.launchID
        takesCrashStacks = program.takesCrashStacks
    }
}
