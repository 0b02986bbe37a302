// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// What a report holds beyond Apple's keys.
public struct LinuxDetails: Codable, Equatable, Sendable {
    /// The version of this layout that the code writes.
    public static let currentSchema = 1

    /// The version of this layout.
    public var schema: Int = currentSchema
    /// What occasioned the report; nil in reports of versions that knew only ``ReportKind/watchdog``.
    public var kind: ReportKind?
    /// What the main thread did.
    public var verdict: Verdict
    /// What the verdict rests on, each with its source.
    public var evidence: [EvidenceStatement]
    /// What the main thread waits for, on what its holder waits, and so on; nil when nothing is known of it.
    public var waits: [WaitDetails]?
    /// What the names on the stacks say beyond the verdict, the nearest cause first.
    public var findings: [Finding]?
    /// The main thread's stack at two moments; nil where there was no earlier look.
    public var stages: StackStages?
    /// The main thread's call tree over several looks; nil where there were none.
    public var samples: SampleDetails?
    /// The allowance that was exhausted.
    public var allowance: AllowanceDetails
    /// By what it was found out that it was exhausted; nil where the main loop itself tells.
    public var missed: MissedDetails?
    /// `kill` or `report`.
    public var enforcement: String
    /// What became of the kill.
    public var kill: KillDetails
    /// How the process ended, where the kernel told it.
    public var exitStatus: ExitStatus?
    /// How the stacks were taken; nil when they could not be taken at all.
    public var capture: CaptureDetails?
    /// What the kernel says of each thread, in the order of ``ReportBody/threads``.
    public var threads: [ThreadDetails]
    /// The whole build-ids, in the order of ``ReportBody/usedImages``.
    public var buildIDs: [String?]
    /// The kernel's release.
    public var kernelRelease: String
    /// The machine's name in the network.
    public var hostName: String
    /// CPUs that were online.
    public var processorCount: Int
    /// The cgroup's path.
    public var cgroup: String?
    /// The arguments, secrets replaced.
    public var commandLine: [String]
    /// The environment, secrets replaced.
    public var environment: [String: String]
    /// Who owns the executable.
    public var executableUserID: Int?
    /// The app's own words about its state (`STATUS=`).
    public var status: String?
    /// The app's own words about what it was doing (`SUMMARY=`).
    public var summary: String?
    /// The pings of this launch.
    public var pings: PingSummary?
    /// The last lines that the app has printed, secrets replaced; nil when they could not be read.
    public var log: LogDetails?
    /// What it went through between foreground, background and suspension; nil when there is nothing to tell.
    public var lifecycle: LifecycleDetails?
    /// How it ended and how the stacks were got, of a ``ReportKind/crash``.
    public var crash: CrashDetails?
    /// What else the supervisor noted.
    public var notes: [String]
}
