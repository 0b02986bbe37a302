// SPDX-License-Identifier: Apache-2.0

/// One exhausted allowance, from its start to the report that closes it.
public struct Incident: Hashable, Sendable, Codable {
    /// What ended the allowance.
    public enum Cause: Hashable, Sendable, Codable {
        /// Its time ran out.
        case exhausted
        /// The app asked for it with `WATCHDOG=trigger`.
        case triggered
        /// It did not stand up to its liveness probes.
        case probesFailed(MissedProbes)
        /// The CPU time of a launch into the background ran out.
        case launchCPUTime(used: Duration)
        /// These background tasks were open when their time was over.
        case backgroundTasks([BackgroundTask], isMachineBusy: Bool)
        /// So many background tasks were open at once; the first of them are named.
        case tooManyTasks(Int, first: [BackgroundTask])
        /// The CPU time for a stay in the background ran out.
        case backgroundCPUTime(used: Duration)
        /// The app was suspended while it held locks on these files.
        case lockedFiles([LockedFile])
        /// Somebody wanted to see what the app does; nothing was exhausted.
        case requested
    }

    /// Counts the incidents of one launch from 1.
    public let id: Int
    /// What the app was watched for.
    public let event: WatchdogEvent
    /// What ended the allowance.
    public let cause: Cause
    /// The allowance as granted, without credit and extensions.
    public let allowance: Duration
    /// When the allowance started.
    public let startedAt: Instant
    /// When the window began over which ``evidence`` counts: earlier than the start for `scene-create`, which has what
    /// `process-launch` left, and later where the supervisor's sleep or a pause made the app start anew.
    public let windowStart: Instant
    /// When it was exhausted.
    public let deadline: Instant
    /// When the decision fell, after the look at the process.
    public let decidedAt: Instant
    /// What run delay added.
    public let credit: Duration
    /// What the app's own requests added.
    public let extended: Duration
    /// Time for which the clock stood still because the process was stopped, frozen or traced.
    public let paused: Duration
    /// How often the supervisor's own sleep put the deadline off.
    public let rebases: Int
    /// What the look at the process showed; nil when it could not be had in time.
    public let evidence: Evidence?
    /// Whether the app was in use.
    public let visibility: Visibility
    /// Whether the app was suspended.
    public let isSuspended: Bool
    /// Whether the app is killed for it.
    public let isEnforced: Bool
    /// What a launch waited for that did not end in time, as people write it: `listen:8080`.
    public internal(set) var awaited: String?
    /// Whether the whole process tree is known to be gone; nil until that is decided, and when nothing was killed.
    public internal(set) var isDeathVerified: Bool?
}

extension Incident {
    /// What stands for a capture that somebody asked for, of an app that is in no trouble.
    ///
    /// - Parameters:
    ///   - id: negative, so that it is none of the machine's.
    ///   - now: when it was asked for.
    ///   - evidence: what a look at the process showed.
    ///   - state: where the app was.
    public init(requestedAs id: Int, at now: Instant, evidence: Evidence?, state: LifecycleState = .foreground) {
        precondition(id < 0, "positive numbers are the machine's")
        self.init(
            id: id, event: .sceneUpdate, cause: .requested, allowance: .zero, startedAt: now, windowStart: now,
            deadline: now, decidedAt: now, credit: .zero, extended: .zero, paused: .zero, rebases: 0,
            evidence: evidence, visibility: [.background, .suspended].contains(state) ? .background : .foreground,
            isSuspended: state == .suspended, isEnforced: false)
    }
}
