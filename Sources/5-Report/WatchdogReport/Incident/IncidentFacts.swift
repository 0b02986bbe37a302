// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogPolicy
public import WatchdogVerdict

/// All facts about an incident except the stacks.
public struct IncidentFacts: Equatable, Sendable {
    /// The exhausted resource.
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
        /// None: files were locked when the app was suspended.
        case lockedFiles = "locked-files"
        /// None: the app itself requested the kill (`WATCHDOG=trigger`).
        case triggered
        /// None: a user requested the stacks.
        case requested
        /// None: the process ended by itself.
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

    /// The consequence of an incident.
    public enum Enforcement: String, Sendable, CaseIterable {
        /// The app is killed.
        case kill
        /// The report is written, and the app continues.
        case report
    }

    /// The outcome of the kill.
    public enum KillOutcome: Equatable, Sendable {
        /// The app was not killed.
        case none
        /// Every process of the app is confirmed gone, this long after the decision.
        case verified(after: Duration)
        /// The signal was sent, but its effect is unknown.
        case unverified
        /// These processes outlived SIGKILL.
        case unkillable([Int])
    }

    // MARK: Which incident

    /// The incident's ID.
    public var id: IncidentID
    /// The cause of the report.
    public var kind = ReportKind.watchdog
    /// The watched event.
    public var event: WatchdogEvent
    /// The termination code of the kill.
    public var code: TerminationCode = .ateBadFood
    /// The exhausted resource.
    public var exhaustion: Exhaustion
    /// The allowance, as configured.
    public var allowance: Duration
    /// The credit for the main thread's run delay.
    public var credit: Duration = .zero
    /// The extensions that were granted to the app.
    public var extended: Duration = .zero
    /// The time for which the clock was paused.
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
    /// The link by which the program was executed; nil for its own name.
    public var link: ProgramLink?
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

    /// The time of the launch.
    public var launchTime: WallTime
    /// The time of the report.
    public var captureTime: WallTime
    /// The time of the launch, on the monotonic clock.
    public var launchInstant: Instant
    /// The time of the report, on the monotonic clock.
    public var captureInstant: Instant

    // MARK: What was seen

    /// Whether the app was in the foreground.
    public var visibility: Visibility = .unknown
    /// The visibility for which the allowance was chosen.
    public var watchdogVisibility: Visibility = .unknown
    /// Whether the app was meant to run.
    public var processState: ProcessState = .running
    /// CPU time of the machine and the app, if it was measured.
    public var cpu: CPUStatistics?
    /// The evidence behind the verdict.
    public var evidence: HangEvidence
    /// The samples taken during the allowance; nil if there were none.
    public var samples: ProcessSamples?
    /// The time from the start of the allowance to the first sample.
    public var samplesBegan: Duration = .zero
    /// The time from the launch to the start of the allowance; nil if unknown.
    public var allowanceBegan: Duration?
    /// The app's own line about its state (`STATUS=`).
    public var status: String?
    /// The app's own line for reports (`SUMMARY=`).
    public var summary: String?
    /// The faults that watchdogd injected into the launch so far, as descriptions.
    public var faults: [String] = []
    /// The pings of this launch.
    public var pings: PingSummary?
    /// The last lines that the app printed, not redacted; the report redacts them.
    public var log: LogDetails?
    /// The app's transitions between foreground, background and suspension.
    public var lifecycle: LifecycleDetails?
    /// The launch up to the report, with secrets redacted.
    public var launch: LaunchDetails?
    /// The end of the process, for a ``ReportKind/crash``.
    public var crash: CrashDetails?
    /// The worker that the report is about; nil if it is about the main process.
    public var server: ServerDetails?
    /// The failed probes, or the readiness for which the launch waited.
    public var missed: MissedDetails?
    /// The other processes of the app.
    public var others: [OtherProcess] = []
    /// The trail of the main thread's wait, not judged yet; nil if the wait does not lead to another process.
    public var trail: TrailDetails?
    /// The foreign processes on that trail whose stacks may be shown.
    public var strangers: [OtherProcess] = []
    /// Further notes, one sentence each.
    public var notes: [String] = []

    // MARK: What was done

    /// The consequence of the incident.
    public var enforcement: Enforcement = .kill
    /// The outcome of the kill.
    public var kill: KillOutcome = .none
    /// The exit status, if the kernel reported it.
    public var exitStatus: ExitStatus?

    /// Creates facts from the mandatory values; the others are set afterward.
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

/// CPU time of the whole machine and of the app during an allowance.
public struct CPUStatistics: Equatable, Sendable {
    /// All processes in user mode: `/proc/stat`, user and nice.
    public var systemUser: Duration
    /// All processes in the kernel: `/proc/stat`, system, irq and softirq.
    public var systemKernel: Duration
    /// All threads of the app, in user mode and in the kernel.
    public var application: Duration
    /// The wall-clock time between the two readings.
    public var elapsed: Duration

    /// Creates the statistics.
    public init(systemUser: Duration, systemKernel: Duration, application: Duration, elapsed: Duration) {
        self.systemUser = systemUser
        self.systemKernel = systemKernel
        self.application = application
        self.elapsed = elapsed
    }

    /// The percentage of the total CPU capacity, as in Apple's reports, which match 100 · time / (elapsed · number of
    /// CPUs), rounded.
    func percent(_ time: Duration, processorCount: Int) -> Int {
        let capacity = elapsed * max(processorCount, 1)
        guard capacity > .zero, time > .zero else { return 0 }
        return Int((100 * (time / capacity)).rounded())
    }
}

extension IncidentFacts {
    /// The judged trail of the wait; that of a worker starts with the probe.
    func judgedTrail(_ app: String, _ capture: CapturedProcess?) -> TrailDetails? {
        guard let server else { return trail?.judged(by: app, pid: pid, processes: others + strangers) }
        var worker = OtherProcess(pid: pid, parentPID: parentPID, name: server.name, state: evidence.state ?? "?")
        worker.capture = capture
        let hop = TrailDetails.Hop(
            link: server.hasAccepted ? .reply : .acceptance, process: pid, name: server.name, sight: .whole,
            thread: mainThread ?? pid, state: String(worker.state), wait: evidence.waits.first)
        let whole = trail?.beginning(with: hop) ?? TrailDetails(hops: [hop])
        return whole?.judged(by: "the probe", pid: 0, processes: [worker] + others + strangers)
    }
}

extension Verdict {
    /// Rewrites the line for a worker's thread.
    mutating func attribute(to worker: String) {
        for subject in ["Main thread ", "Process "] where line.hasPrefix(subject) {
            line = "\(worker) " + line.dropFirst(subject.count)
            return
        }
    }
}
