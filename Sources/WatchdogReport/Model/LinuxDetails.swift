// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogVerdict

/// What a report contains beyond Apple's keys.
public struct LinuxDetails: Codable, Equatable, Sendable {
    /// The version of this layout that is written.
    public static let currentSchema = 1

    /// The version of this layout.
    public var schema: Int = currentSchema
    /// Why the report was written; nil in reports from versions that knew only ``ReportKind/watchdog``.
    public var kind: ReportKind?
    /// What the main thread did.
    public var verdict: Verdict
    /// The evidence behind the verdict, each statement with its source.
    public var evidence: [EvidenceStatement]
    /// What the main thread waits for, what its holder waits for, and so on; nil when nothing is known.
    public var waits: [WaitDetails]?
    /// What the names on the stacks add to the verdict, the most direct cause first.
    public var findings: [Finding]?
    /// The main thread's stack at two moments; nil when there was no earlier sample.
    public var stages: StackStages?
    /// The main thread's call tree over several samples; nil when there were none.
    public var samples: SampleDetails?
    /// The allowance that was exhausted.
    public var allowance: AllowanceDetails
    /// How the exhaustion was detected; nil when the main loop itself shows it.
    public var missed: MissedDetails?
    /// That the report is about a worker; nil if it is about the main process.
    public var server: ServerDetails?
    /// `kill` or `report`.
    public var enforcement: String
    /// The outcome of the kill.
    public var kill: KillDetails
    /// How the process ended, if the kernel reported it.
    public var exitStatus: ExitStatus?
    /// How the stacks were captured; nil when they could not be.
    public var capture: CaptureDetails?
    /// What the kernel says about each thread, in the order of ``ReportBody/threads``.
    public var threads: [ThreadDetails]
    /// The full build IDs, in the order of ``ReportBody/usedImages``.
    public var buildIDs: [String?]
    /// The other processes of the app, with their stacks; nil when there are none.
    public var processes: [ProcessDetails]?
    /// The processes to which the main thread's wait leads, and the root; nil if it leads to none.
    public var trail: TrailDetails?
    /// The processes of others on that trail, with their stacks; nil when there are none, or none may be revealed.
    public var trailProcesses: [ProcessDetails]?
    /// The kernel release.
    public var kernelRelease: String
    /// The host name.
    public var hostName: String
    /// Where an orchestrator ran the app; nil when nothing said so.
    public var workload: WorkloadDetails?
    /// The number of CPUs that were online.
    public var processorCount: Int
    /// The path of the cgroup.
    public var cgroup: String?
    /// The arguments, with secrets redacted.
    public var commandLine: [String]
    /// The environment, with secrets redacted.
    public var environment: [String: String]
    /// The owner of the executable.
    public var executableUserID: Int?
    /// The app's own words about its state (`STATUS=`).
    public var status: String?
    /// The app's own words about what it was doing (`SUMMARY=`).
    public var summary: String?
    /// The pings of this launch.
    public var pings: PingSummary?
    /// The last lines that the app printed, with secrets redacted; nil when they could not be read.
    public var log: LogDetails?
    /// The app's transitions between foreground, background and suspension; nil when there are none to report.
    public var lifecycle: LifecycleDetails?
    /// The launch as far as it got, with what the app marked in it; nil when nothing of it is known.
    public var launch: LaunchDetails?
    /// How the process ended and where the stacks come from, for a ``ReportKind/crash``.
    public var crash: CrashDetails?
    /// Later incidents of the same fault that have no report of their own; nil when there are none.
    public var repeats: RepeatDetails?
    /// Further notes by the supervisor.
    public var notes: [String]
}
