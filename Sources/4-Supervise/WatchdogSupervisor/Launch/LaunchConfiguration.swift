// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogConfiguration
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogReportStore

/// A run's configuration with everything resolved.
struct LaunchConfiguration {
    /// Shared with the machine.
    var sharedSpec: Shared<AppSpec>
    let executable: String
    let arguments: [ByteString]
    var environment: Environment
    let workingDirectory: String?
    @Boxed var credentials: Credentials?
    @Boxed var probe: Probe?
    /// The target of liveness probes.
    @Boxed var livenessTarget: ProbeSettings.Target?
    let store: ReportStore
    /// The app's version, as far as somebody said it.
    var version: String?
    /// Limits and other attributes of each process.
    var attributes = ProcessAttributes()
    /// Limits for all processes together.
    var cgroupLimits = CgroupLimits()
    /// The standard streams; nil for the supervisor's own.
    @Boxed var streams: StandardStreams?
    /// Whether the kernel should write a core file when a signal ends the program.
    var takesCrashStacks = false
    /// The event for whose sake the app is launched.
    @Boxed var launchingEvent: LaunchingEvent?
    /// Distinguishes this launch from all others.
    var launchID = IncidentID.random()
    /// What is known of a process that someone else started and owns; nil for a launch by watchdogd.
    @Boxed var observed: ObservedDetails?

    /// Whose calls off the loop its own are, because this user can make them hang; nil for watchdogd's own user.
    var workOwner: String? { credentials.map { String($0.user) } }
    /// Whose limits on reads that may never return it counts against.
    var tenant: Tenant { Tenant(app: name, user: observed?.user ?? credentials?.user ?? geteuid()) }

    /// The target of a readiness probe.
    enum Probe {
        case listening(NetworkAddress)
        case command(String)

        /// The probe as it is written in a setting.
        var description: String {
            switch self {
            case .listening(.tcp(.any, let port)): "listen:\(port)"
            case .listening(let address): "listen:\(address)"
            case .command(let command): "exec:\(command)"
            }
        }
    }

    /// Shares the storage of values that are equal in another launch.
    mutating func share(with other: LaunchConfiguration) {
        if environment == other.environment { environment = other.environment }
        spec.$lifecycle.share(with: other.spec.$lifecycle)
    }

    var name: String { spec.name }
    var spec: AppSpec {
        get { sharedSpec.wrappedValue }
        set { sharedSpec.wrappedValue = newValue }
    }
}

/// The attributes of a process besides its program, environment and credentials.
struct ProcessAttributes {
    var limits: [ResourceLimit] = []
    var niceness: Int32?
    var oomScoreAdjustment: Int?
    var fileModeMask: UInt32?
    var noNewPrivileges = false
    /// Whether the kernel records how the program starts.
    var recordsStartup = false
    /// Whether the app may be asked to block its main loop.
    var allowsFaults = false

    func apply(to request: inout SpawnRequest) {
        request.limits += limits
        request.niceness = niceness
        request.oomScoreAdjustment = oomScoreAdjustment
        request.fileModeMask = fileModeMask
        request.noNewPrivileges = noNewPrivileges
    }
}

/// The details of an observed process in reports.
struct ObservedDetails: Hashable, Sendable {
    var user: UInt32
    var parent: Int32
    var parentName: String
    /// The owner of the process.
    var owner: String
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
    func forApp(variables: [(name: String, value: String)], user: UserAccount?) -> Environment {
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
