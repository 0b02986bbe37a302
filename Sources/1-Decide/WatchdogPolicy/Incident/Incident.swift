// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// One exhausted allowance, from its start to the report that closes it.
public struct Incident: Hashable, Sendable, Codable {
    /// Why the allowance was exhausted.
    public enum Cause: Hashable, Sendable, Codable {
        /// Its time ran out.
        case exhausted
        /// The app asked for it with `WATCHDOG=trigger`.
        case triggered
        /// Consecutive liveness probes failed.
        case probesFailed(MissedProbes)
        /// A launch into the background used up its CPU time.
        case launchCPUTime(used: Duration)
        /// These background tasks were still open when their time ran out.
        case backgroundTasks([BackgroundTask], isMachineBusy: Bool)
        /// This many background tasks were open at once; the first of them are listed.
        case tooManyTasks(Int, first: [BackgroundTask])
        /// A stay in the background used up its CPU time.
        case backgroundCPUTime(used: Duration)
        /// The app was suspended while it held locks on these files.
        case lockedFiles([LockedFile])

        private enum CodingKeys: String, CodingKey {
            case exhausted, triggered, probesFailed, launchCPUTime, backgroundTasks, tooManyTasks, backgroundCPUTime,
                lockedFiles
        }
        private enum LaunchCPUTimeCodingKeys: String, CodingKey { case used }
        private enum BackgroundTasksCodingKeys: String, CodingKey { case _0, isMachineBusy }
        private enum TooManyTasksCodingKeys: String, CodingKey { case _0, first }
        private enum BackgroundCPUTimeCodingKeys: String, CodingKey { case used }
    }

    /// The number of the incident in its launch, from 1.
    public let id: Int
    /// What the app was watched for.
    public let event: WatchdogEvent
    /// Why the allowance was exhausted.
    public let cause: Cause
    /// The allowance as granted, without credit or extensions.
    public let allowance: Duration
    /// When the allowance started.
    public let startedAt: Instant
    /// The start of the window that ``evidence`` covers.
    ///
    /// It is earlier than the start of `scene-create`, which has the remainder of `process-launch`, and later if the
    /// allowance started over because the supervisor overslept or the app was paused.
    public let windowStart: Instant
    /// When it was exhausted.
    public let deadline: Instant
    /// When it was decided, after the examination.
    public let decidedAt: Instant
    /// The credit for run delay.
    public let credit: Duration
    /// The extensions that the app requested.
    public let extended: Duration
    /// Time in which the process was stopped, frozen or traced.
    public let paused: Duration
    /// How often the deadline was postponed because the supervisor overslept.
    public let rebases: Int
    /// What the examination found; nil if it did not finish in time.
    public let evidence: Evidence?
    /// Whether the app was in use.
    public let visibility: Visibility
    /// Whether the app was suspended.
    public let isSuspended: Bool
    /// Whether the app is killed for it.
    public let isEnforced: Bool
    /// What a launch was waiting for when it timed out, as written in settings: `listen:8080`.
    public internal(set) var awaited: String?
    /// Whether the whole process tree is known to be gone; nil until that is known, or if nothing was killed.
    public internal(set) var isDeathVerified: Bool?

    private enum CodingKeys: String, CodingKey {
        case id, event, cause, allowance, startedAt, windowStart, deadline, decidedAt, credit, extended, paused,
            rebases, evidence, visibility, isSuspended, isEnforced, awaited, isDeathVerified
    }
}

/// What an app was being watched for, in the terms of Apple's reports (`WatchdogEvent: scene-update`).
public enum WatchdogEvent: String, Sendable, Codable, CaseIterable {
    /// From `execve` until the app's runtime says hello; if it never does, until the app is ready.
    case processLaunch = "process-launch"
    /// From hello until the app is ready; has the remainder of the launch allowance.
    case sceneCreate = "scene-create"
    /// An answer of the main loop.
    case sceneUpdate = "scene-update"
    /// From the request to terminate until the process is gone.
    case processExit = "process-exit"
    /// Background tasks that are open although the app's time in the background has run out.
    case backgroundTask = "background-task"
    /// What an app holds while it is suspended.
    case suspension = "suspension"

    /// The name of its allowance, which is that of the option: `update`, as in `--update`.
    public var allowanceName: String {
        switch self {
        case .processLaunch, .sceneCreate: "launch"
        case .sceneUpdate: "update"
        case .processExit: "terminate"
        case .backgroundTask: "background"
        case .suspension: "suspension"
        }
    }

    /// What the app did not do, in plain words: people who read a list or a message need not know Apple's names.
    public var omission: String {
        switch self {
        case .processLaunch, .sceneCreate: "not ready"
        case .sceneUpdate: "did not answer"
        case .processExit: "did not exit"
        case .backgroundTask: "background tasks"
        case .suspension: rawValue
        }
    }
}
