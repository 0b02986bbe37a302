// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// A setting of an app's file; the raw value is its key.
public enum ConfigurationKey: String, Hashable, Sendable, CaseIterable {
    /// The program.
    case execStart = "ExecStart"
    /// What runs before the program.
    case execStartPre = "ExecStartPre"
    /// What makes the program read its configuration again.
    case execReload = "ExecReload"
    /// What people call the app.
    case description = "Description"
    /// Whose rights the program has.
    case user = "User"
    /// Whose group the program has.
    case group = "Group"
    /// Further groups.
    case supplementaryGroups = "SupplementaryGroups"
    /// Where the program starts.
    case workingDirectory = "WorkingDirectory"
    /// Variables.
    case environment = "Environment"
    /// Files of variables.
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
    /// Message queues.
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
    /// Whether set-user-id is without effect.
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
    /// Time to end.
    case terminate = "Terminate"
    /// Time to reload.
    case reload = "Reload"
    /// Time from one ping to the next.
    case ping = "Ping"
    /// How the app tells that it is ready.
    case readiness = "Readiness"
    /// How the supervisor finds out whether the app lives.
    case probe = "Probe"
    /// Time from one probe to the next.
    case probeInterval = "ProbeInterval"
    /// Time for a probe.
    case probeTimeout = "ProbeTimeout"
    /// Failures in a row that make a hang.
    case probeThreshold = "ProbeThreshold"
    /// HTTP status codes that count as success.
    case probeStatus = "ProbeStatus"
    /// What the body of an HTTP answer must contain.
    case probeBody = "ProbeBody"
    /// Time to go to the background.
    case enterBackground = "EnterBackground"
    /// Time in the background with open tasks.
    case background = "Background"
    /// How long before its end tasks are told to end.
    case expiration = "Expiration"
    /// Time in the background without a task until suspension.
    case suspendAfter = "SuspendAfter"
    /// How old a task may become before it is told of.
    case taskWarning = "TaskWarning"
    /// How many tasks may be open at once.
    case taskLimit = "TaskLimit"
    /// CPU time for a stay in the background.
    case backgroundCPU = "BackgroundCPU"
    /// Whether the app is launched into the background.
    case launchInBackground = "LaunchInBackground"
    /// Time to become ready there.
    case backgroundLaunch = "BackgroundLaunch"
    /// CPU time to become ready there.
    case backgroundLaunchCPU = "BackgroundLaunchCPU"
    /// What follows an exhausted allowance.
    case enforce = "Enforce"
    /// From how long on a hang that ends by itself has a report.
    case hangReports = "HangReports"
    /// The most by which the app can extend an allowance.
    case extensionCap = "ExtensionCap"
    /// Whether an extension counts that shows no progress.
    case allowBlindExtension = "AllowBlindExtension"
    /// How long reports are kept.
    case keepReports = "KeepReports"
    /// What the allowances are multiplied by.
    case timeScale = "TimeScale"
    /// After which ends the app is restarted.
    case policy = "Policy"
    /// The first wait.
    case delay = "Delay"
    /// How the wait grows.
    case factor = "Factor"
    /// The longest wait.
    case maxDelay = "MaxDelay"
    /// How long a healthy run lasts.
    case reset = "Reset"
    /// How many restarts are allowed.
    case limit = "Limit"
    /// Within which time restarts are counted.
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

    /// The section to which the key belongs.
    public var section: ConfigurationSection {
        switch self {
        case .execStart, .execStartPre, .execReload, .description, .user, .group, .supplementaryGroups,
            .workingDirectory, .environment, .environmentFile, .umask, .nice, .oomScoreAdjust, .limitCPU,
            .limitFSIZE, .limitDATA, .limitSTACK, .limitCORE, .limitRSS, .limitNOFILE, .limitAS, .limitNPROC,
            .limitMEMLOCK, .limitLOCKS, .limitSIGPENDING, .limitMSGQUEUE, .limitNICE, .limitRTPRIO, .limitRTTIME,
            .standardOutput, .standardError, .noNewPrivileges, .cpuQuota, .memoryMax, .tasksMax, .enabled:
            .app
        case .launch, .update, .terminate, .reload, .ping, .readiness, .probe, .probeInterval, .probeTimeout,
            .probeThreshold, .probeStatus, .probeBody, .enterBackground, .background, .expiration, .suspendAfter,
            .taskWarning, .taskLimit,
            .backgroundCPU, .launchInBackground, .backgroundLaunch, .backgroundLaunchCPU, .enforce, .hangReports,
            .extensionCap, .allowBlindExtension,
            .keepReports,
            .timeScale:
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
}
