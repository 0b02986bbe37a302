// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
package import WatchdogConfiguration
import WatchdogLinux
package import WatchdogPolicy
package import WatchdogReport
package import WatchdogReportStore

/// Everything the next watchdogd needs to resume a launch.
package struct LaunchState: Codable {
    /// The version of this structure; a newer one is not read.
    ///
    /// Adding optional fields needs no new version: they are nil when read from an older file.
    package static let format: UInt32 = 4
    /// Enough for an app with a long environment and many incidents.
    static let capacity = 4 << 20

    /// The main process.
    package struct Process: Codable {
        package var pid: Int32
        package var startTime: UInt64?
        package var launchedAt: Instant
        var launchTime: WallTime
        /// The thread that runs the main loop.
        package var thread: Int32?

        package init(
            pid: Int32, startTime: UInt64? = nil, launchedAt: Instant, launchTime: WallTime, thread: Int32? = nil
        ) {
            self.pid = pid
            self.startTime = startTime
            self.launchedAt = launchedAt
            self.launchTime = launchTime
            self.thread = thread
        }

        private enum CodingKeys: String, CodingKey { case pid, startTime, launchedAt, launchTime, thread }
    }

    /// Descriptor numbers, for a process that re-executes itself.
    package struct Descriptors: Codable {
        package var channel: Int32?
        package var notify: Int32
        package var process: Int32?

        private enum CodingKeys: String, CodingKey { case channel, notify, process }

        package var all: [Int32] { [channel, notify, process].compactMap(\.self) }
    }

    /// What was launched, for the report and for readiness probes.
    package struct Program: Codable {
        package enum Probe: Codable {
            case listening(String)
            case command(String)

            private enum CodingKeys: String, CodingKey { case listening, command }
        }

        package var executable: String
        package var arguments: [String]
        package var environment: [String]
        package var workingDirectory: String?
        package var user: UInt32?
        package var group: UInt32?
        package var groups: [UInt32]
        package var probe: Probe?
        package var livenessTarget: ProbeSettings.Target?
        package var takesCrashStacks: Bool

        private enum CodingKeys: String, CodingKey {
            case executable, arguments, environment, workingDirectory, user, group, groups, probe, livenessTarget,
                takesCrashStacks
        }
    }

    package var launchID: IncidentID
    /// Nil until the process runs.
    package var process: Process?
    /// The cgroup that holds the processes; nil if there is none.
    package var cgroup: String?
    package var notifyAddress: String
    package var descriptors: Descriptors
    var suspendedTime: Duration
    package var program: Program
    package var machine: SavedProcess
    package var account: AppAccount
    /// Incidents whose reports are not written yet, with the ids of those reports.
    var pendingReports: [PendingReport]
    /// The id of a crash report that is not written yet.
    package var pendingCrash: IncidentID?
    /// The reload in progress.
    package var reload: KeptReload?
    /// Commands whose end nobody waits for.
    package var commands: [KeptCommand]?

    private enum CodingKeys: String, CodingKey {
        case launchID, process, cgroup, notifyAddress, descriptors, suspendedTime, program, machine, account
        case pendingReports = "owed"
        case pendingCrash = "owedCrash"
        case reload, commands
    }

    package struct PendingReport: Codable, Hashable {
        package var incident: Incident
        package var report: IncidentID

        private enum CodingKeys: String, CodingKey { case incident, report }
    }

    package var name: String { machine.spec.name }

    package func encoded() throws -> [UInt8] { try StateEncoder.encode(self) }

    package static func decode(_ bytes: [UInt8]) throws -> LaunchState {
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
    package init(resuming state: LaunchState, store: ReportStore) {
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
