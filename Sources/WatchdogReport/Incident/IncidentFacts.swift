// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogPolicy
public import WatchdogVerdict

/// Everything that the supervisor knows about an incident, except the stacks.
public struct IncidentFacts: Equatable, Sendable {
    /// What ran out.
    public enum Exhaustion: String, Sendable, CaseIterable {
        /// Wall-clock time.
        case wallClock = "wall-clock"
        /// CPU time.
        case cpuTime = "cpu-time"
        /// The time that the app has to exit after a request to do so.
        case termination
        /// The time in the background while tasks are open.
        case backgroundTask = "background-task"
        /// The number of background tasks that may be open.
        case taskCount = "task-count"
        /// Nothing: files were locked when the app was suspended.
        case lockedFiles = "locked-files"
        /// Nothing: the app itself asked to be killed (`WATCHDOG=trigger`).
        case triggered
        /// Nothing: someone requested the stacks.
        case requested
        /// Nothing: the process ended by itself.
        case ended
    }

    /// Whether the app was in the foreground.
    public enum Visibility: String, Sendable, CaseIterable {
        /// In the foreground.
        case foreground = "Foreground"
        /// In the background.
        case background = "Background"
        /// Not reported yet.
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
        /// Writes the report and lets the app run on.
        case report
    }

    /// The outcome of the kill.
    public enum KillOutcome: Equatable, Sendable {
        /// There was no kill.
        case none
        /// Every process of the app is confirmed gone, this long after the decision.
        case verified(after: Duration)
        /// The signal was sent, but its effect is not known yet.
        case unverified
        /// These processes outlived SIGKILL.
        case unkillable([Int])
    }

    // MARK: Which incident

    /// The incident's ID.
    public var id: IncidentID
    /// Why the report is written.
    public var kind = ReportKind.watchdog
    /// What the app was watched for.
    public var event: WatchdogEvent
    /// Why the app is killed.
    public var code: TerminationCode = .ateBadFood
    /// What ran out.
    public var exhaustion: Exhaustion
    /// The allowance, as configured.
    public var allowance: Duration
    /// The credit for the main thread's run delay.
    public var credit: Duration = .zero
    /// The extensions that the app asked for.
    public var extended: Duration = .zero
    /// How long the clock was paused.
    public var paused: Duration = .zero
    /// The time from the start of the allowance to the last examination of the process.
    public var elapsed: Duration

    // MARK: Which process

    /// The app's name.
    public var appName: String
    /// The app version.
    public var appVersion: String?
    /// The build number of that version; nil for the first digits of the program's build ID.
    public var buildVersion: String?
    /// The process ID.
    public var pid: Int
    /// The thread that runs the main loop, unless it is the process's first one.
    public var mainThread: Int?
    /// The path of the executable.
    public var executablePath: String
    /// The owner of the executable.
    public var executableUserID: Int?
    /// The arguments, not redacted; the report redacts them.
    public var arguments: [String] = []
    /// The environment at launch, not redacted; the report redacts it.
    public var environment: [String: String] = [:]
    /// The user that the process runs as.
    public var userID: Int
    /// The name of the parent process.
    public var parentName: String
    /// The ID of the parent process.
    public var parentPID: Int
    /// The path of the cgroup.
    public var cgroup: String?

    // MARK: When

    /// When the app was launched.
    public var launchTime: WallTime
    /// When the report was taken.
    public var captureTime: WallTime
    /// When the app was launched, on the monotonic clock.
    public var launchInstant: Instant
    /// When the report was taken, on the monotonic clock.
    public var captureInstant: Instant

    // MARK: What was seen

    /// Whether the app was in the foreground.
    public var visibility: Visibility = .unknown
    /// The visibility that the allowance was chosen for.
    public var watchdogVisibility: Visibility = .unknown
    /// Whether the app was meant to run.
    public var processState: ProcessState = .running
    /// CPU time of the machine and the app, if it was measured.
    public var cpu: CPUStatistics?
    /// The evidence behind the verdict.
    public var evidence: HangEvidence
    /// The samples taken during the allowance; nil when there were none.
    public var samples: ProcessSamples?
    /// The time from the start of the allowance to the first sample.
    public var samplesBegan: Duration = .zero
    /// The app's own words about its state (`STATUS=`).
    public var status: String?
    /// The app's own words about what it was doing (`SUMMARY=`).
    public var summary: String?
    /// The faults that watchdogd injected into the launch so far, in its own words.
    public var faults: [String] = []
    /// The pings of this launch.
    public var pings: PingSummary?
    /// The last lines that the app printed, not redacted; the report redacts them.
    public var log: LogDetails?
    /// The app's transitions between foreground, background and suspension.
    public var lifecycle: LifecycleDetails?
    /// The launch as far as it got, with secrets redacted.
    public var launch: LaunchDetails?
    /// How the process ended, for a ``ReportKind/crash``.
    public var crash: CrashDetails?
    /// That it is about a worker, and not about the main process.
    public var server: ServerDetails?
    /// Which probes failed, or what the launch waited for.
    public var missed: MissedDetails?
    /// The other processes of the app.
    public var others: [OtherProcess] = []
    /// Where the main thread's wait leads, not judged yet; nil if it leads to no other process.
    public var trail: TrailDetails?
    /// The processes of others on that trail, as far as their stacks may be revealed.
    public var strangers: [OtherProcess] = []
    /// Further notes, one sentence each.
    public var notes: [String] = []

    // MARK: What was done

    /// What the watchdog does to the app.
    public var enforcement: Enforcement = .kill
    /// The outcome of the kill.
    public var kill: KillOutcome = .none
    /// How the process ended, if the kernel reported it.
    public var exitStatus: ExitStatus?

    /// Creates facts from what is always known; the rest is set afterward.
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
