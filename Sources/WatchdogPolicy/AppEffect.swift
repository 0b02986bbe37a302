// SPDX-License-Identifier: Apache-2.0

/// What the supervisor has to do, in order.
public enum AppEffect: Hashable, Sendable {
    /// Start the process; answer with ``AppEvent/spawned(pid:)`` or ``AppEvent/spawnFailed``.
    case spawn
    /// Remember the main thread's CPU time and run delay: evidence counts from here.
    case beginWindow
    /// Begin to look at the process from outside, again and again, without disturbing it: its allowance runs out.
    case observe
    /// No more looks: the allowance ended, with this hang if it was one.
    indirect case endObservation(Hang?)
    /// Send `PING=<nonce>`.
    case sendPing(nonce: UInt64)
    /// Run one readiness probe; answer with ``AppEvent/probed(isReady:)``.
    case probe
    /// Begin a liveness probe; answer with ``AppEvent/livenessProbed(id:_:)``, unless it is cancelled before.
    case probeLiveness(id: Int)
    /// End the liveness probe that is under way, without an answer.
    case cancelLivenessProbe
    /// Ask the app to end: `TERMINATE=1` on the channel, SIGTERM, SIGCONT.
    case terminate
    /// Look at the process; answer with ``AppEvent/inspected(_:)``.
    case inspect
    /// Take the stacks, and kill the tree if the incident is enforced; answer with ``AppEvent/captured``.
    indirect case capture(Incident)
    /// Kill every process of the app; answer with ``AppEvent/treeEmptied`` when none is left, even if none was before.
    case killTree
    /// Write the report that closes the incident.
    indirect case report(Incident)
    /// Tell the people and the programs that watch.
    indirect case announce(Notice)
    /// Do something for the app's lifecycle.
    indirect case lifecycle(LifecycleEffect)
    /// The last effect: nothing follows.
    indirect case finish(Outcome)
}

/// How the life of an app ended.
public struct Outcome: Hashable, Sendable, Codable {
    /// What brought it about.
    public enum Cause: Hashable, Sendable, Codable {
        /// The process could not be started.
        case spawnFailed
        /// It ended by itself.
        case exited
        /// It ended within its allowance after the request.
        case terminated
        /// It was killed at the second request to terminate, or at the first while it was suspended.
        case killedOnRequest
        /// It was killed because an allowance was exhausted.
        case watchdog(Incident)
    }

    /// What brought it about.
    public let cause: Cause
    /// How the main process ended; nil when it never ran or is not known to be gone.
    public let status: ExitStatus?
    /// Whether the whole process tree is known to be gone.
    public let isDeathVerified: Bool

    /// Creates an outcome.
    public init(cause: Cause, status: ExitStatus?, isDeathVerified: Bool) {
        self.cause = cause
        self.status = status
        self.isDeathVerified = isDeathVerified
    }
}

/// What is worth telling.
public enum Notice: Hashable, Sendable {
    /// The process runs.
    case launched(pid: Int32)
    /// A process that ran already was taken over; its history is lost.
    case adopted(pid: Int32)
    /// The launch is over.
    case ready(ReadinessSource, after: Duration)
    /// The main loop answered again after a hang of this length.
    case hung(for: Duration)
    /// Run delay extended an allowance.
    case starvationCredit(Duration, event: WatchdogEvent)
    /// The supervisor itself slept through a deadline, by this much; the allowance was re-based.
    case overslept(by: Duration, event: WatchdogEvent)
    /// The machine was suspended; the allowance was re-based.
    case machineResumed(suspension: Duration)
    /// An allowance's clock stands still.
    case paused(Pause)
    /// It runs again.
    case resumed(after: Duration)
    /// The app extended its allowance.
    case extended(by: Duration, event: WatchdogEvent)
    /// An extension did not count.
    case extensionRefused(ExtensionRefusal)
    /// The app was asked to end, or said that it is ending.
    case terminating(isRequested: Bool)
    /// An allowance is exhausted.
    case transgressed(Incident)
    /// The stacks could not be taken in time; what follows, a kill or only a report, goes on without them.
    case captureTimedOut
    /// The app's channel is lost with the supervisor that held it: its main loop is not watched any more.
    case channelLost
    /// The main process ended.
    case exited(ExitStatus)
    /// Processes of the app outlive SIGKILL.
    case unkillable
    /// Something about liveness probes.
    case probe(ProbeNotice)
    /// Something happened to the app's lifecycle.
    case lifecycle(LifecycleNotice)
}

/// Why an extension did not count.
public enum ExtensionRefusal: Hashable, Sendable {
    /// It came without a progress token that differs from the one before.
    case noProgress
    /// The cap on extensions is used up.
    case capReached
    /// No allowance is running.
    case nothingToExtend
}
