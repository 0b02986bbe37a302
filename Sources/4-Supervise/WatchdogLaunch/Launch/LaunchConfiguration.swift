// SPDX-License-Identifier: Apache-2.0

import Glibc
package import WatchdogBase
package import WatchdogConfiguration
package import WatchdogLinux
package import WatchdogPolicy
package import WatchdogReport
package import WatchdogReportStore

/// A run's configuration with everything resolved.
package struct LaunchConfiguration {
    /// Shared with the machine.
    package var sharedSpec: Shared<AppSpec>
    package let executable: String
    package let arguments: [ByteString]
    package var environment: Environment
    package let workingDirectory: String?
    @Boxed package var credentials: Credentials?
    @Boxed package var probe: Probe?
    /// The target of liveness probes.
    @Boxed package var livenessTarget: ProbeSettings.Target?
    package let store: ReportStore
    /// The app's version, as far as somebody said it.
    package var version: String?
    /// Limits and other attributes of each process.
    package var attributes = ProcessAttributes()
    /// Limits for all processes together.
    package var cgroupLimits = CgroupLimits()
    /// The standard streams; nil for the supervisor's own.
    @Boxed package var streams: StandardStreams?
    /// Whether the kernel should write a core file when a signal ends the program.
    package var takesCrashStacks = false
    /// The event for whose sake the app is launched.
    @Boxed package var launchingEvent: LaunchingEvent?
    /// Distinguishes this launch from all others.
    package var launchID = IncidentID.random()
    /// What is known of a process that someone else started and owns; nil for a launch by watchdogd.
    @Boxed package var observed: ObservedDetails?
    /// The link by which the program is executed; nil for its own name, or if an earlier watchdogd has launched it.
    @Boxed package var link: ProgramLink?

    /// A configuration with everything that is known before a launch.
    package init(
        sharedSpec: Shared<AppSpec>, executable: String, arguments: [ByteString], environment: Environment,
        workingDirectory: String?, credentials: Credentials?, probe: Probe?, livenessTarget: ProbeSettings.Target?,
        store: ReportStore, version: String? = nil, streams: StandardStreams? = nil, takesCrashStacks: Bool = false
    ) {
        self.sharedSpec = sharedSpec
        self.executable = executable
        self.arguments = arguments
        self.environment = environment
        self.workingDirectory = workingDirectory
        _credentials = Boxed(wrappedValue: credentials)
        _probe = Boxed(wrappedValue: probe)
        _livenessTarget = Boxed(wrappedValue: livenessTarget)
        self.store = store
        self.version = version
        _streams = Boxed(wrappedValue: streams)
        self.takesCrashStacks = takesCrashStacks
    }

    /// Whose calls off the loop its own are, because this user can make them hang; nil for watchdogd's own user.
    package var workOwner: String? { credentials.map { String($0.user) } }
    /// Whose limits on reads that may never return it counts against.
    package var tenant: Tenant { Tenant(app: name, user: observed?.user ?? credentials?.user ?? geteuid()) }

    /// The target of a readiness probe.
    package enum Probe {
        case listening(NetworkAddress)
        case command(String)

        /// The probe as it is written in a setting.
        package var description: String {
            switch self {
            case .listening(.tcp(.any, let port)): "listen:\(port)"
            case .listening(let address): "listen:\(address)"
            case .command(let command): "exec:\(command)"
            }
        }
    }

    /// Shares the storage of values that are equal in another launch.
    package mutating func share(with other: LaunchConfiguration) {
        if environment == other.environment { environment = other.environment }
        spec.$lifecycle.share(with: other.spec.$lifecycle)
    }

    package var name: String { spec.name }
    package var spec: AppSpec {
        get { sharedSpec.wrappedValue }
        set { sharedSpec.wrappedValue = newValue }
    }
}

/// The attributes of a process besides its program, environment and credentials.
package struct ProcessAttributes {
    package var limits: [ResourceLimit] = []
    var niceness: Int32?
    var oomScoreAdjustment: Int?
    var fileModeMask: UInt32?
    var noNewPrivileges = false
    /// Whether the kernel records how the program starts.
    package var recordsStartup = false
    /// Whether the app may be asked to block its main loop.
    package var allowsFaults = false

    package init(
        limits: [ResourceLimit] = [], niceness: Int32? = nil, oomScoreAdjustment: Int? = nil,
        fileModeMask: UInt32? = nil, noNewPrivileges: Bool = false, recordsStartup: Bool = false,
        allowsFaults: Bool = false
    ) {
        self.limits = limits
        self.niceness = niceness
        self.oomScoreAdjustment = oomScoreAdjustment
        self.fileModeMask = fileModeMask
        self.noNewPrivileges = noNewPrivileges
        self.recordsStartup = recordsStartup
        self.allowsFaults = allowsFaults
    }

    package func apply(to request: inout SpawnRequest) {
        request.limits += limits
        request.niceness = niceness
        request.oomScoreAdjustment = oomScoreAdjustment
        request.fileModeMask = fileModeMask
        request.noNewPrivileges = noNewPrivileges
    }
}

/// The details of an observed process in reports.
package struct ObservedDetails: Hashable, Sendable {
    package var user: UInt32
    package var parent: Int32
    var parentName: String
    /// The owner of the process.
    package var owner: String

    package init(user: UInt32, parent: Int32, parentName: String, owner: String) {
        self.user = user
        self.parent = parent
        self.parentName = parentName
        self.owner = owner
    }
}

extension Environment {
    /// The variables as text; the last entry of each name counts.
    var dictionary: [String: String] {
        var result: [String: String] = [:]
        for entry in entries {
            let parts = entry.description.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { result[String(parts[0])] = String(parts[1]) }
        }
        return result
    }

    /// What an app inherits, what it was given, and how it reaches its supervisor.
    ///
    /// - Parameters:
    ///   - variables: set in addition to the inherited ones, in order.
    ///   - user: its `HOME`, `USER`, `LOGNAME` and `SHELL` replace the supervisor's, unless set in `variables`.
    package func forApp(variables: [(name: String, value: String)], user: UserAccount?) -> Environment {
        var result = self
        // These belong to the supervisor's service manager, or to an outer supervisor.
        for name in [
            "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "WATCHDOG_CHANNEL", "WATCHDOG_STATE", "WATCHDOG_EVENT",
            "WATCHDOG_FAULTS", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "RUNTIME_DIRECTORY", Reexecution.variable,
        ] {
            result[name] = nil
        }
        if let user {
            result["HOME"] = user.home
            result["USER"] = user.name
            result["LOGNAME"] = user.name
            result["SHELL"] = user.shell
        }
        // The Swift runtime's backtracer catches the first SIGABRT, and the app survives it.
        if result["SWIFT_BACKTRACE"] == nil { result["SWIFT_BACKTRACE"] = "enable=no" }
        for (name, value) in variables { result[name] = value }
        return result
    }
}
