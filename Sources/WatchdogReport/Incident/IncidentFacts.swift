// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// Everything the supervisor knows of an incident, except the stacks.
public struct IncidentFacts: Equatable, Sendable {
    /// What ran out.
    public enum Exhaustion: String, Sendable, CaseIterable {
        /// Wall-clock time.
        case wallClock = "wall-clock"
        /// CPU time.
        case cpuTime = "cpu-time"
        /// The time to end after the request to.
        case termination
        /// The time in the background, for tasks that are open.
        case backgroundTask = "background-task"
        /// The number of background tasks that may be open.
        case taskCount = "task-count"
        /// Nothing: files were locked when the app was suspended.
        case lockedFiles = "locked-files"
        /// Nothing: the app itself asked to be ended (`WATCHDOG=trigger`).
        case triggered
        /// Nothing: somebody asked for the stacks.
        case requested
        /// Nothing: the process ended by itself.
        case ended
    }

    /// Whether the app was in use.
    public enum Visibility: String, Sendable, CaseIterable {
        /// In use.
        case foreground = "Foreground"
        /// Not in use.
        case background = "Background"
        /// Not said yet.
        case unknown = "Unknown"
    }

    /// Whether the app was meant to run.
    public enum ProcessState: String, Sendable, CaseIterable {
        /// Meant to run.
        case running = "Running"
        /// Frozen on purpose.
        case suspended = "Suspended"
    }

    /// What the watchdog does to the app.
    public enum Enforcement: String, Sendable, CaseIterable {
        /// Kills it.
        case kill
        /// Writes the report and lets it run.
        case report
    }

    /// What became of the kill.
    public enum KillOutcome: Equatable, Sendable {
        /// There was none.
        case none
        /// Every process of the app is known to be gone, so long after the decision.
        case verified(after: Duration)
        /// It was sent, but nothing is known of its effect yet.
        case unverified
        /// These processes outlived SIGKILL.
        case unkillable([Int])
    }

    // MARK: Which incident

    /// The incident.
    public var id: IncidentID
    /// What occasioned the report.
    public var kind = ReportKind.watchdog
    /// What the app was watched for.
    public var event: WatchdogEvent
    /// Why it is ended.
    public var code: TerminationCode = .ateBadFood
    /// What ran out.
    public var exhaustion: Exhaustion
    /// The allowance as configured.
    public var allowance: Duration
    /// What the main thread's run delay added to it.
    public var credit: Duration = .zero
    /// What the app's own requests added to it.
    public var extended: Duration = .zero
    /// For how long its clock stood still.
    public var paused: Duration = .zero
    /// From its start to the last look at the process.
    public var elapsed: Duration

    // MARK: Which process

    /// The app's name.
    public var appName: String
    /// The app's version.
    public var appVersion: String?
    /// The build of that version.
    public var buildVersion: String?
    /// The process.
    public var pid: Int
    /// The thread that runs the main loop, when it is not the process's first.
    public var mainThread: Int?
    /// The executable.
    public var executablePath: String
    /// Who owns the executable.
    public var executableUserID: Int?
    /// The arguments, unredacted: the report redacts them.
    public var arguments: [String] = []
    /// The environment at launch, unredacted: the report redacts it.
    public var environment: [String: String] = [:]
    /// The user it runs as.
    public var userID: Int
    /// The parent's name.
    public var parentName: String
    /// The parent.
    public var parentPID: Int
    /// The cgroup's path.
    public var cgroup: String?

    // MARK: When

    /// When it was launched.
    public var launchTime: WallTime
    /// When the report was taken.
    public var captureTime: WallTime
    /// When it was launched, on the monotonic clock.
    public var launchInstant: Instant
    /// When the report was taken, on the monotonic clock.
    public var captureInstant: Instant

    // MARK: What was seen

    /// Whether the app was in use.
    public var visibility: Visibility = .unknown
    /// The visibility that the allowance was chosen for.
    public var watchdogVisibility: Visibility = .unknown
    /// Whether it was meant to run.
    public var processState: ProcessState = .running
    /// CPU time of machine and app, if it was measured.
    public var cpu: CPUStatistics?
    /// What the verdict is made from.
    public var evidence: HangEvidence
    /// What the looks before the end showed; nil where there were none.
    public var samples: ProcessSamples?
    /// From the start of the allowance to the first of those looks.
    public var samplesBegan: Duration = .zero
    /// The app's own words about its state (`STATUS=`).
    public var status: String?
    /// The app's own words about what it was doing (`SUMMARY=`).
    public var summary: String?
    /// The pings of this launch.
    public var pings: PingSummary?
    /// The last lines that the app has printed, unredacted: the report redacts them.
    public var log: LogDetails?
    /// What it went through between foreground, background and suspension.
    public var lifecycle: LifecycleDetails?
    /// How it ended, of a ``ReportKind/crash``.
    public var crash: CrashDetails?
    /// Which probes failed, or what the launch waited for.
    public var missed: MissedDetails?
    /// What else is worth telling, one sentence each.
    public var notes: [String] = []

    // MARK: What was done

    /// What the watchdog does to the app.
    public var enforcement: Enforcement = .kill
    /// What became of the kill.
    public var kill: KillOutcome = .none
    /// How the process ended, where the kernel told it.
    public var exitStatus: ExitStatus?

    /// Creates facts from what is always known; set the rest afterwards.
    public init(
        id: IncidentID, event: WatchdogEvent, exhaustion: Exhaustion, allowance: Duration, elapsed: Duration,
        appName: String, pid: Int, executablePath: String, userID: Int, parentName: String, parentPID: Int,
        launchTime: WallTime, captureTime: WallTime, launchInstant: Instant, captureInstant: Instant,
        evidence: HangEvidence
    ) {
        self.id = id
        self.event = event
        self.exhaustion = exhaustion
        self.allowance = allowance
        self.elapsed = elapsed
        self.appName = appName
        self.pid = pid
        self.executablePath = executablePath
        self.userID = userID
        self.parentName = parentName
        self.parentPID = parentPID
        self.launchTime = launchTime
        self.captureTime = captureTime
        self.launchInstant = launchInstant
        self.captureInstant = captureInstant
        self.evidence = evidence
    }
}
