// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogPolicy

/// A setting of an app's file; the raw value is its key.
public enum ConfigurationKey: String, Hashable, Sendable, CaseIterable {
    /// The program.
    case execStart = "ExecStart"
    /// A service or container that something else started, instead of a program.
    case observe = "Observe"
    /// Commands that run before the program.
    case execStartPre = "ExecStartPre"
    /// Commands that make the program reload its configuration.
    case execReload = "ExecReload"
    /// The app's name for people.
    case description = "Description"
    /// The app's version.
    case version = "Version"
    /// The program's user.
    case user = "User"
    /// The program's group.
    case group = "Group"
    /// Further groups.
    case supplementaryGroups = "SupplementaryGroups"
    /// The program's working directory.
    case workingDirectory = "WorkingDirectory"
    /// Variables.
    case environment = "Environment"
    /// Environment files.
    case environmentFile = "EnvironmentFile"
    /// The file mode creation mask.
    case umask = "UMask"
    /// The nice value.
    case nice = "Nice"
    /// How soon the kernel kills the program when memory is short.
    case oomScoreAdjust = "OOMScoreAdjust"
    /// CPU time.
    case limitCPU = "LimitCPU"
    /// Size of a file.
    case limitFSIZE = "LimitFSIZE"
    /// Size of the data segment.
    case limitDATA = "LimitDATA"
    /// Size of the stack.
    case limitSTACK = "LimitSTACK"
    /// Size of a core dump.
    case limitCORE = "LimitCORE"
    /// Resident memory.
    case limitRSS = "LimitRSS"
    /// Open descriptors.
    case limitNOFILE = "LimitNOFILE"
    /// Size of the address space.
    case limitAS = "LimitAS"
    /// Processes of the user.
    case limitNPROC = "LimitNPROC"
    /// Locked memory.
    case limitMEMLOCK = "LimitMEMLOCK"
    /// File locks.
    case limitLOCKS = "LimitLOCKS"
    /// Queued signals.
    case limitSIGPENDING = "LimitSIGPENDING"
    /// Bytes in message queues.
    case limitMSGQUEUE = "LimitMSGQUEUE"
    /// Nice value.
    case limitNICE = "LimitNICE"
    /// Real-time priority.
    case limitRTPRIO = "LimitRTPRIO"
    /// CPU time without sleep at real-time priority.
    case limitRTTIME = "LimitRTTIME"
    /// Where standard output goes.
    case standardOutput = "StandardOutput"
    /// Where standard error goes.
    case standardError = "StandardError"
    /// Whether set-user-id has no effect.
    case noNewPrivileges = "NoNewPrivileges"
    /// CPU time per second.
    case cpuQuota = "CPUQuota"
    /// Memory of all processes.
    case memoryMax = "MemoryMax"
    /// Number of processes and threads.
    case tasksMax = "TasksMax"
    /// Whether the daemon launches the app when it starts.
    case enabled = "Enabled"
    /// Time to become ready.
    case launch = "Launch"
    /// Time for an answer.
    case update = "Update"
    /// Time to exit.
    case terminate = "Terminate"
    /// Time to reload.
    case reload = "Reload"
    /// Time between pings.
    case ping = "Ping"
    /// How the app reports readiness.
    case readiness = "Readiness"
    /// How the supervisor probes liveness.
    case probe = "Probe"
    /// Time between probes.
    case probeInterval = "ProbeInterval"
    /// Time for a probe.
    case probeTimeout = "ProbeTimeout"
    /// Consecutive failures that count as a hang.
    case probeThreshold = "ProbeThreshold"
    /// HTTP status codes that count as success.
    case probeStatus = "ProbeStatus"
    /// What the body of an HTTP response must contain.
    case probeBody = "ProbeBody"
    /// Time to move to the background.
    case enterBackground = "EnterBackground"
    /// Time in the background with open tasks.
    case background = "Background"
    /// How long before the end of the background time tasks are asked to end.
    case expiration = "Expiration"
    /// Time in the background without tasks until suspension.
    case suspendAfter = "SuspendAfter"
    /// The age at which a task is reported.
    case taskWarning = "TaskWarning"
    /// The limit of tasks open at once.
    case taskLimit = "TaskLimit"
    /// CPU time for a stay in the background.
    case backgroundCPU = "BackgroundCPU"
    /// Whether the app is launched into the background.
    case launchInBackground = "LaunchInBackground"
    /// Time to become ready in the background.
    case backgroundLaunch = "BackgroundLaunch"
    /// CPU time to become ready in the background.
    case backgroundLaunchCPU = "BackgroundLaunchCPU"
    /// What follows an exhausted allowance.
    case enforce = "Enforce"
    /// The minimum length of a reported hang that ended by itself.
    case hangReports = "HangReports"
    /// Which unrequested ends get a report.
    case crashReports = "CrashReports"
    /// Whether the kernel records how the program starts.
    case recordLaunches = "RecordLaunches"
    /// Whether stacks are captured when a signal ends the app.
    case crashStacks = "CrashStacks"
    /// What runs after the report of an incident.
    case onIncident = "OnIncident"
    /// How long that may run.
    case onIncidentTimeout = "OnIncidentTimeout"
    /// For which reports it runs.
    case onIncidentFor = "OnIncidentFor"
    /// Whether journal entries carry reports.
    case reportsInJournal = "ReportsInJournal"
    /// The limit on an app's extensions of one allowance.
    case extensionCap = "ExtensionCap"
    /// Whether an extension without progress counts.
    case allowBlindExtension = "AllowBlindExtension"
    /// How long reports are kept.
    case keepReports = "KeepReports"
    /// Whether the stacks of incidents are kept beside the reports.
    case keepStacks = "KeepStacks"
    /// The factor that allowances are multiplied by.
    case timeScale = "TimeScale"
    /// Which ends are followed by a restart.
    case policy = "Policy"
    /// The first wait.
    case delay = "Delay"
    /// The growth of the wait.
    case factor = "Factor"
    /// The longest wait.
    case maxDelay = "MaxDelay"
    /// The length of a healthy run.
    case reset = "Reset"
    /// How many restarts are allowed.
    case limit = "Limit"
    /// The interval in which restarts are counted.
    case limitInterval = "LimitInterval"
    /// Restarts after a failed launch.
    case limitLaunch = "LimitLaunch"
    /// Restarts after a hang.
    case limitHang = "LimitHang"
    /// Restarts after a crash.
    case limitCrash = "LimitCrash"
    /// Restarts after an exit.
    case limitExit = "LimitExit"
    /// Restarts after memory was exhausted.
    case limitMemory = "LimitMemory"
    /// What happens at a limit.
    case atLimit = "AtLimit"

    /// The section of the key.
    public var section: ConfigurationSection {
        switch self {
        case .execStart, .observe, .execStartPre, .execReload, .description, .version, .user, .group,
            .supplementaryGroups,
            .workingDirectory, .environment, .environmentFile, .umask, .nice, .oomScoreAdjust, .limitCPU,
            .limitFSIZE, .limitDATA, .limitSTACK, .limitCORE, .limitRSS, .limitNOFILE, .limitAS, .limitNPROC,
            .limitMEMLOCK, .limitLOCKS, .limitSIGPENDING, .limitMSGQUEUE, .limitNICE, .limitRTPRIO, .limitRTTIME,
            .standardOutput, .standardError, .noNewPrivileges, .cpuQuota, .memoryMax, .tasksMax, .enabled:
            .app
        case .launch, .update, .terminate, .reload, .ping, .readiness, .probe, .probeInterval, .probeTimeout,
            .probeThreshold, .probeStatus, .probeBody, .enterBackground, .background, .expiration, .suspendAfter,
            .taskWarning, .taskLimit, .backgroundCPU, .launchInBackground, .backgroundLaunch, .backgroundLaunchCPU,
            .enforce, .hangReports, .crashReports, .crashStacks, .recordLaunches, .onIncident,
            .onIncidentTimeout, .onIncidentFor, .reportsInJournal, .extensionCap, .allowBlindExtension, .keepReports,
            .keepStacks, .timeScale:
            .watchdog
        case .policy, .delay, .factor, .maxDelay, .reset, .limit, .limitInterval, .limitLaunch, .limitHang,
            .limitCrash, .limitExit, .limitMemory, .atLimit:
            .restart
        }
    }

    /// The resource of a `Limit…=` key in `[App]`; nil for any other key.
    public var limitedResource: LimitedResource? {
        guard section == .app, rawValue.hasPrefix("Limit") else { return nil }
        return LimitedResource(rawValue: String(rawValue.dropFirst("Limit".count)))
    }

    /// The cause of a `Limit…=` key in `[Restart]`; nil for any other key.
    public var limitedCause: RestartSettings.Cause? {
        switch self {
        case .limitLaunch: .launch
        case .limitHang: .hang
        case .limitCrash: .crash
        case .limitExit: .exit
        case .limitMemory: .memory
        default: nil
        }
    }

    /// The key that has at least two words and shares all of them with `name`, or else the one that shares the most.
    ///
    /// Someone who writes `ProbeFailureThreshold` means `ProbeThreshold`, although many letters differ.
    static func sharingWords(with name: String) -> Self? {
        let written = words(of: name)
        let found = allCases.filter { key in
            let own = words(of: key.rawValue)
            return min(own.count, written.count) > 1 && (own.isSubset(of: written) || written.isSubset(of: own))
        }
        if found.count == 1 { return found[0] }
        // `ProbeURL` can only be about probes, and `Probe` says where to learn more.
        guard written.count > 1 else { return nil }
        return allCases.first { words(of: $0.rawValue).count == 1 && written.contains($0.rawValue[...]) }
    }

    /// The words of a key, each of which begins with a capital.
    private static func words(of name: String) -> Set<Substring> {
        let starts = name.prefix(Similarity.longest).indices.filter { name[$0].isUppercase }
        return Set(zip(starts, starts.dropFirst() + [name.endIndex]).map { name[$0..<$1] })
    }
}

/// A section of an app's file; the raw value is its name.
public enum ConfigurationSection: String, Hashable, Sendable, CaseIterable {
    /// The program and its process.
    case app = "App"
    /// Allowances and signs of life.
    case watchdog = "Watchdog"
    /// What happens after the app ends.
    case restart = "Restart"
}
