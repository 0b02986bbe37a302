// SPDX-License-Identifier: Apache-2.0

/// What happened, as the supervisor tells it to an ``AppMachine``.
public enum AppEvent: Hashable, Sendable {
    /// Somebody wants the app to run.
    case launchRequested
    /// `execve` succeeded.
    case spawned(pid: Int32)
    /// The process could not be started.
    case spawnFailed
    /// The `Watchdog` library said hello on the channel: the app answers pings.
    case hello
    /// Any message on the notify socket: the app speaks sd_notify(3).
    case notified
    /// The app said `READY=1`.
    case ready(ReadinessSource)
    /// A readiness probe ended.
    case probed(isReady: Bool)
    /// The liveness probe of this number ended by itself.
    case livenessProbed(id: Int, ProbeResult)
    /// The main loop answered a ping.
    case ponged(nonce: UInt64)
    /// `WATCHDOG=1`.
    case watchdogPinged
    /// `WATCHDOG=trigger`.
    case watchdogTriggered
    /// `WATCHDOG_USEC=…`; zero means that the app will ping no longer.
    case watchdogIntervalChanged(Duration)
    /// `EXTEND_TIMEOUT_USEC=…`; the token must change from one request to the next to count as progress.
    case extensionRequested(by: Duration, progress: String?)
    /// `STOPPING=1`: the app ends by its own will.
    case stopping
    /// Somebody wants the app to end; said twice, it is killed.
    case terminateRequested
    /// The main process was stopped by a signal.
    case stopped
    /// The main process was continued.
    case continued
    /// The machine was suspended for this long.
    case machineResumed(suspension: Duration)
    /// ``AppMachine/nextDeadline`` has come.
    case deadlineReached
    /// The answer to ``AppEffect/inspect``.
    case inspected(Evidence)
    /// The answer to ``AppEffect/capture(_:)``: the stacks are taken or could not be taken, and the tree is killed if the
    /// incident is enforced.
    case captured
    /// The main process ended.
    case exited(ExitStatus)
    /// No process of the app is left.
    case treeEmptied
    /// Something happened to the app's lifecycle.
    case lifecycle(LifecycleEvent)
    /// The supervisor runs again after its own restart, and what was waiting for it has been handled; false when what the
    /// machine asked for last may not have been done.
    case supervisorReturned(isLastStepDone: Bool)
    /// A process of the app was found running, and nothing is known of its life until now.
    case adopted(pid: Int32)
    /// The channel did not survive the supervisor's restart: the app cannot be asked any more.
    case channelLost
}
