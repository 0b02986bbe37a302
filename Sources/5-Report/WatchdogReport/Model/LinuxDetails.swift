// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogVerdict

/// The part of a report beyond Apple's keys.
public struct LinuxDetails: Codable, Equatable, Sendable {
    /// The version of this layout that is written.
    public static let currentSchema = 1

    /// The version of this layout.
    public var schema: Int = currentSchema
    /// The cause of the report; nil in reports of versions that had only ``ReportKind/watchdog``.
    public var kind: ReportKind?
    /// The verdict about the main thread or the end of the process.
    public var verdict: Verdict
    /// The evidence behind the verdict, each statement with its source.
    public var evidence: [EvidenceStatement]
    /// The wait of the main thread, the wait of its holder, and so on; nil if unknown.
    public var waits: [WaitDetails]?
    /// The findings from the names on the stacks, the most direct cause first.
    public var findings: [Finding]?
    /// The main thread's stack at two moments; nil without an earlier sample.
    public var stages: StackStages?
    /// The main thread's call tree over several samples; nil without samples.
    public var samples: SampleDetails?
    /// The exhausted allowance.
    public var allowance: AllowanceDetails
    /// The missed probes or readiness; nil if the main loop itself did not answer.
    public var missed: MissedDetails?
    /// The worker that the report is about; nil if it is about the main process.
    public var server: ServerDetails?
    /// `kill` or `report`.
    public var enforcement: String
    /// The outcome of the kill.
    public var kill: KillDetails
    /// The exit status, if the kernel reported it.
    public var exitStatus: ExitStatus?
    /// The method of the capture; nil if the stacks could not be captured.
    public var capture: CaptureDetails?
    /// The kernel's facts about each thread, in the order of ``ReportBody/threads``.
    public var threads: [ThreadDetails]
    /// The goroutines of a Go program; nil for others, or if they could not be read.
    public var goroutines: GoroutineDetails?
    /// The full build IDs, in the order of ``ReportBody/usedImages``.
    public var buildIDs: [String?]
    /// The other processes of the app, with their stacks; nil without any.
    public var processes: [ProcessDetails]?
    /// The processes to which the main thread's wait leads, and the root; nil if it does not lead to another process.
    public var trail: TrailDetails?
    /// The foreign processes on that trail, with their stacks; nil without any, or if none may be shown.
    public var trailProcesses: [ProcessDetails]?
    /// The kernel release.
    public var kernelRelease: String
    /// The host name.
    public var hostName: String
    /// The orchestrator's names for the place of the app; nil without an orchestrator.
    public var workload: WorkloadDetails?
    /// The number of online CPUs.
    public var processorCount: Int
    /// The path of the cgroup.
    public var cgroup: String?
    /// The arguments, with secrets redacted.
    public var commandLine: [String]
    /// The environment, with secrets redacted.
    public var environment: [String: String]
    /// The owner of the executable.
    public var executableUserID: Int?
    /// The app's own line about its state (`STATUS=`).
    public var status: String?
    /// The app's own line for reports (`SUMMARY=`).
    public var summary: String?
    /// The pings of this launch.
    public var pings: PingSummary?
    /// The last lines that the app printed, with secrets redacted; nil if they could not be read.
    public var log: LogDetails?
    /// The app's transitions between foreground, background and suspension; nil if there are none to report.
    public var lifecycle: LifecycleDetails?
    /// The launch up to the report, with the app's marks; nil if unknown.
    public var launch: LaunchDetails?
    /// The end of the process and the source of the stacks, for a ``ReportKind/crash``.
    public var crash: CrashDetails?
    /// Later incidents with the same signature, which have no separate reports; nil without any.
    public var repeats: RepeatDetails?
    /// Further notes by the supervisor.
    public var notes: [String]
}

/// The cause of a report.
public enum ReportKind: String, Codable, Sendable, CaseIterable {
    /// An allowance was exhausted.
    case watchdog
    /// The main loop did not answer for a while and then recovered.
    case hang
    /// A user requested the stacks.
    case capture
    /// A signal killed the process or it exited, without a request.
    case crash

    /// Whether the process continued; Apple's readers then show that this is not a crash.
    var isSimulated: Bool { self == .hang || self == .capture }
}

/// The exhausted allowance; all times are in nanoseconds.
public struct AllowanceDetails: Codable, Equatable, Sendable {
    /// The watched event, such as `scene-update`.
    public var event: String
    /// The exhausted resource: `wall-clock`, `cpu-time`, `termination`, or `triggered` if the app itself requested the
    /// kill.
    public var kind: String
    /// The allowance, as configured.
    public var nanoseconds: Int64
    /// The credit for the main thread's run delay.
    public var creditNanoseconds: Int64
    /// The extensions that were granted to the app.
    public var extendedNanoseconds: Int64
    /// The time for which the clock was paused.
    public var pausedNanoseconds: Int64
    /// The time from the start of the allowance to the last examination of the process.
    public var elapsedNanoseconds: Int64
}

/// The outcome of the kill.
public struct KillDetails: Codable, Equatable, Sendable {
    /// `none`, `verified`, `unverified` or `unkillable`.
    public var outcome: String
    /// The time from the decision until the last process was gone; present only when verified.
    public var nanoseconds: Int64?
    /// Processes that outlived SIGKILL.
    public var survivors: [Int]
}

/// The pings of one launch.
public struct PingSummary: Codable, Equatable, Sendable {
    /// The number of sent pings.
    public var sent: Int
    /// The number of pings that the main loop answered.
    public var answered: Int
    /// The time from the last answer to the report, in nanoseconds; nil without one.
    public var sinceLastAnswerNanoseconds: Int64?
    /// The time from the last ping to the report, in nanoseconds; nil without one, or if the time is unknown.
    public var sinceLastPingNanoseconds: Int64?
    /// The time of the slowest answer, in nanoseconds; nil without one.
    public var slowestNanoseconds: Int64?

    /// Creates the values.
    public init(
        sent: Int, answered: Int, sinceLastAnswerNanoseconds: Int64? = nil, sinceLastPingNanoseconds: Int64? = nil,
        slowestNanoseconds: Int64? = nil
    ) {
        self.sent = sent
        self.answered = answered
        self.sinceLastAnswerNanoseconds = sinceLastAnswerNanoseconds
        self.sinceLastPingNanoseconds = sinceLastPingNanoseconds
        self.slowestNanoseconds = slowestNanoseconds
    }
}

/// The worker that a report is about: a process other than the app's main process that did not answer a probe, or a thread of
/// the main process other than its main thread.
public struct ServerDetails: Codable, Hashable, Sendable {
    /// The name of the worker (`comm`), which it can set.
    public var name: String
    /// Whether it has accepted the probe's connection; otherwise, it only listens.
    public var hasAccepted: Bool
    /// The ID of the main process; that of the report's process if the worker is one of its threads.
    public var mainProcess: Int

    /// Creates a value.
    public init(name: String, hasAccepted: Bool, mainProcess: Int) {
        self.name = name.singleLine(limit: 64)
        self.hasAccepted = hasAccepted
        self.mainProcess = mainProcess
    }
}
