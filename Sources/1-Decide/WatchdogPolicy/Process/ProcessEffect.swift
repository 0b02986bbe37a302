// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// What the supervisor must do, in order.
public enum ProcessEffect: Hashable, Sendable {
    /// Start the process; answer with ``ProcessEvent/spawned(pid:)`` or ``ProcessEvent/spawnFailed``.
    case spawn
    /// Note the main thread's CPU time and run delay: evidence counts from here.
    case beginWindow
    /// Start to sample the process from outside without disturbing it, because its allowance is running out.
    case observe
    /// Stop sampling, because the allowance ended; with the hang, if it was one.
    indirect case endObservation(Hang?)
    /// Send `PING=<nonce>`.
    case sendPing(nonce: UInt64)
    /// Run one readiness probe; answer with ``ProcessEvent/probed(isReady:)``.
    case probe
    /// Start a liveness probe; answer with ``ProcessEvent/livenessProbed(id:_:)`` unless it is cancelled.
    case probeLiveness(id: Int)
    /// Cancel the liveness probe in progress, without an answer.
    case cancelLivenessProbe
    /// Ask the app to end: SIGTERM, `TERMINATE=1` on the channel, SIGCONT.
    case terminate
    /// Examine the process; answer with ``ProcessEvent/inspected(id:_:)`` and the same id.
    case inspect(id: Int)
    /// Capture the stacks, and kill the tree if the incident is enforced; answer with ``ProcessEvent/captured``.
    indirect case capture(Incident)
    /// Ask every process that the main process left behind to end: SIGTERM, SIGCONT; answer with
    /// ``ProcessEvent/treeEmptied`` when none remain, even if there were none.
    case terminateTree
    /// Kill every process of the app; answer with ``ProcessEvent/treeEmptied`` when none remain, even if there were
    /// none.
    case killTree
    /// Write the report that closes the incident.
    indirect case report(Incident)
    /// Report a notice to people and programs.
    indirect case announce(Notice)
    /// Do something for the app's lifecycle.
    indirect case lifecycle(LifecycleEffect)
    /// The last effect.
    indirect case finish(Outcome)
}

/// How the life of an app ended.
public struct Outcome: Hashable, Sendable, Codable {
    /// Why it ended.
    public enum Cause: Hashable, Sendable, Codable {
        /// The process could not be started.
        case spawnFailed
        /// It ended by itself.
        case exited
        /// It ended within its allowance after the request.
        case terminated
        /// It was killed on the second request to terminate, or on the first while it was suspended.
        case killedOnRequest
        /// It was killed because an allowance was exhausted.
        case watchdog(Incident)

        private enum CodingKeys: String, CodingKey { case spawnFailed, exited, terminated, killedOnRequest, watchdog }
    }

    /// Why it ended.
    public let cause: Cause
    /// How the main process ended; nil if it never ran or is not known to be gone.
    public let status: ExitStatus?
    /// Whether the whole process tree is known to be gone.
    public let isDeathVerified: Bool

    private enum CodingKeys: String, CodingKey { case cause, status, isDeathVerified }

    /// Creates an outcome.
    public init(cause: Cause, status: ExitStatus?, isDeathVerified: Bool) {
        self.cause = cause
        self.status = status
        self.isDeathVerified = isDeathVerified
    }
}

/// What a machine reports.
public enum Notice: Hashable, Sendable {
    /// The process is running.
    case launched(pid: Int32)
    /// A running process was adopted; its history is lost.
    case adopted(pid: Int32)
    /// The launch is complete.
    case ready(ReadinessSource, after: Duration)
    /// The app marked a moment of its launch; the supervisor measures it, and no allowance depends on it.
    case marked(LaunchMark, after: Duration)
    /// Half of an allowance has passed, and the app has not done what it is for.
    case slow(Slowness)
    /// The main loop answered again after a hang of this length.
    case hung(for: Duration)
    /// Run delay extended an allowance.
    case starvationCredit(Duration, event: WatchdogEvent)
    /// The supervisor overslept a deadline by this much; the allowance was re-based.
    case overslept(by: Duration, event: WatchdogEvent)
    /// The machine was suspended; the allowance was re-based.
    case machineResumed(suspension: Duration)
    /// An allowance's clock stands still.
    case paused(Pause)
    /// The clock runs again.
    case resumed(after: Duration)
    /// The app extended its allowance.
    case extended(by: Duration, event: WatchdogEvent)
    /// An extension was refused.
    case extensionRefused(ExtensionRefusal)
    /// A message on the notify socket came from a process that is not the app's; said once per launch.
    case messageRefused(sender: Int32, user: UInt32)
    /// The app was asked to end, or reported that it is ending.
    case terminating(isRequested: Bool)
    /// An allowance is exhausted.
    case transgressed(Incident)
    /// The capture timed out; the kill or the report goes ahead without it.
    case captureTimedOut
    /// The app's channel was lost with the previous supervisor; its main loop is no longer watched.
    case channelLost
    /// The main process ended.
    case exited(ExitStatus)
    /// Processes of the app survive SIGKILL.
    case unkillable
    /// A notice about liveness probes.
    case probe(ProbeNotice)
    /// A notice about the app's lifecycle.
    case lifecycle(LifecycleNotice)
}

/// An app that has used up half of an allowance.
public struct Slowness: Hashable, Sendable {
    /// What the app has not done.
    public enum Duty: Hashable, Sendable {
        case becomeReady
        /// Answer a ping on its main loop.
        case answer
        /// Send `WATCHDOG=1`.
        case push
        /// Enter a state, or handle an event.
        case respond
        case exit(isRequested: Bool)
    }

    /// What it has not done.
    public let duty: Duty
    /// Which allowance.
    public let event: WatchdogEvent
    /// How long it has taken so far.
    public let duration: Duration
    /// What is left of the allowance.
    public let remaining: Duration
}

/// Why an extension was refused.
public enum ExtensionRefusal: Hashable, Sendable {
    /// It came without a progress token that differs from the previous one.
    case noProgress
    /// The cap on extensions is used up.
    case capReached
    /// No allowance is running.
    case nothingToExtend
}

/// A moment of a launch that the app itself reports; each comes once in a launch, and its time counts from `execve`.
public enum LaunchMark: Hashable, Sendable {
    /// The app has shown itself.
    case firstFrame
    /// The app does what it was launched for.
    case useful
    /// The launch and all tasks that extend it are over.
    case extended(tasks: Int)

    /// The mark's name in journal entries.
    public var name: String {
        switch self {
        case .firstFrame: "firstFrame"
        case .useful: "useful"
        case .extended: "extended"
        }
    }
}
