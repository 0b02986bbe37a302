// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

/// A run's configuration with everything looked up: nothing in it can still be missing.
struct LaunchConfiguration {
    /// Held by the machine, too.
    var sharedSpec: Shared<AppSpec>
    let executable: String
    let arguments: [ByteString]
    var environment: Environment
    let workingDirectory: String?
    let credentials: Credentials?
    let probe: Probe?
    /// What liveness probes look at.
    let livenessTarget: ProbeSettings.Target?
    let store: ReportStore
    /// Limits and the like.
    var attributes = ProcessAttributes()
    /// Limits for all its processes together.
    var cgroupLimits = CgroupLimits()
    /// The standard streams; nil for the supervisor's own.
    var streams: StandardStreams?
    /// Whether the kernel is to write a core file when a signal ends the program.
    var takesCrashStacks = false
    /// Tells this launch from all others.
    var launchID = IncidentID.random()

    /// What a readiness probe looks at.
    enum Probe {
        case listening(ListenAddress)
        case command(String)

        /// As it is written.
        var description: String {
            switch self {
            case .listening(.tcp(.any, let port)): "listen:\(port)"
            case .listening(let address): "listen:\(address)"
            case .command(let command): "exec:\(command)"
            }
        }
    }

    /// Keeps what is the same as for another launch only once.
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

/// What a process is given besides its program, its environment and its rights.
struct ProcessAttributes {
    var limits: [ResourceLimit] = []
    var niceness: Int32?
    var oomScoreAdjustment: Int?
    var fileModeMask: UInt32?
    var noNewPrivileges = false

    func apply(to request: inout SpawnRequest) {
        request.limits += limits
        request.niceness = niceness
        request.oomScoreAdjustment = oomScoreAdjustment
        request.fileModeMask = fileModeMask
        request.noNewPrivileges = noNewPrivileges
    }
}

extension Environment {
    /// The variables as text, the last of each name.
    var dictionary: [String: String] {
        var result: [String: String] = [:]
        for entry in entries {
            let parts = entry.description.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { result[String(parts[0])] = String(parts[1]) }
        }
        return result
    }

    /// What an app inherits, plus what it was given, plus how it reaches its supervisor.
    ///
    /// - Parameters:
    ///   - variables: set on top of the inherited ones, in order.
    ///   - user: whose `HOME`, `USER`, `LOGNAME` and `SHELL` replace the supervisor's, unless set in `variables`.
    func forApp(variables: [(name: String, value: String)], user: UserAccount?) -> Environment {
        var result = self
        // These belong to the supervisor's own service manager, or to a supervisor above this one.
        for name in [
            "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "WATCHDOG_CHANNEL", "WATCHDOG_STATE", "WATCHDOG_EVENT",
            "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "RUNTIME_DIRECTORY", Reexecution.variable,
        ] {
            result[name] = nil
        }
        if let user {
            result["HOME"] = user.home
            result["USER"] = user.name
            result["LOGNAME"] = user.name
            result["SHELL"] = user.shell
        }
        // A Swift app survives its first SIGABRT when the runtime's backtracer has caught it.
        if result["SWIFT_BACKTRACE"] == nil { result["SWIFT_BACKTRACE"] = "enable=no" }
        for (name, value) in variables { result[name] = value }
        return result
    }
}
