// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// What happened, as the supervisor reports it to a ``ProcessMachine``.
public enum ProcessEvent: Hashable, Sendable {
    /// Somebody requested a launch.
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
    /// The liveness probe with this number ended by itself.
    case livenessProbed(id: Int, ProbeResult)
    /// The main loop answered a ping.
    case ponged(nonce: UInt64)
    /// `WATCHDOG=1`.
    case watchdogPinged
    /// `WATCHDOG=trigger`.
    case watchdogTriggered
    /// `WATCHDOG_USEC=…`; zero means that the app will stop pushing.
    case watchdogIntervalChanged(Duration)
    /// `EXTEND_TIMEOUT_USEC=…`; the token must change from one request to the next to count as progress.
    case extensionRequested(by: Duration, progress: String?)
    /// `STOPPING=1`: the app is ending by itself.
    case stopping
    /// Somebody requested the app's end; the second time, it is killed.
    case terminateRequested
    /// The main process was stopped by a signal.
    case stopped
    /// The main process was continued.
    case continued
    /// The machine was suspended for this long.
    case machineResumed(suspension: Duration)
    /// ``ProcessMachine/nextDeadline`` was reached.
    case deadlineReached
    /// The answer to ``ProcessEffect/inspect(id:)`` with this id; an answer with another id changes nothing.
    case inspected(id: Int, Evidence)
    /// The answer to ``ProcessEffect/capture(_:)``: the capture succeeded or failed, and the tree is killed if the
    /// incident is enforced.
    case captured
    /// The main process ended.
    case exited(ExitStatus)
    /// No process of the app remains.
    case treeEmptied
    /// Something happened to the app's lifecycle.
    case lifecycle(LifecycleEvent)
    /// The supervisor has restarted, and everything that was waiting for it has been handled; false if the machine's
    /// last effects may not have been executed.
    case supervisorReturned(isLastStepDone: Bool)
    /// A process of the app was found running; nothing is known of its past.
    case adopted(pid: Int32)
    /// The channel did not survive the supervisor's restart: the app can no longer be asked.
    case channelLost
}
