// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// What to do for an app, as decided by an ``AppMachine``; effects are executed in order.
public enum AppEffect: Hashable, Sendable {
    /// Create a launch, which may take a while; answer with ``AppEvent/created(_:hasPreparations:)`` or
    /// ``AppEvent/creationFailed(reason:)``.
    case create
    /// Cancel the creation; it sends no further event.
    case cancelCreation
    /// Run the commands that precede the process.
    case prepare(LaunchID)
    /// Kill the running command of ``prepare(_:)``; no further event of them follows.
    case cancelPreparation(LaunchID)
    /// Start the process.
    case start(LaunchID)
    /// Resume a launch of the previous watchdogd from its saved state; answer with ``AppEvent/resumed(_:_:)``.
    case resume(LaunchID)
    /// Adopt a process that was found, and whose saved state is lost.
    case adopt(LaunchID)
    /// Ask the process to end; the second time, kill it.
    case terminate(LaunchID)
    /// Kill the processes that remain of an ended launch.
    case killRemains(LaunchID)
    /// Answer with ``AppEvent/inspected(_:isSilent:isGone:)``.
    case inspect(LaunchID)
    /// Release everything of a launch, then remove its saved state; answer with ``AppEvent/released(_:)``.
    ///
    /// The app's pending state is saved first: a launch that is neither saved nor accounted for would be lost.
    case release(LaunchID)
    /// Save ``AppMachine/saved`` before the next effect, which the next watchdogd must know about.
    case save
    /// Save ``AppMachine/saved`` at the end of the current turn of the loop, so that no process waits for a disk.
    case saveSoon
    /// Drop an app that is no longer configured and not running; its launches may still be waiting for reports.
    case forget
    /// Answer a waiter.
    case answer(Int, AppAnswer)
    /// Report a fact to operators.
    case publish(AppNotice)
}

/// The answer to an ``AppWaiter``.
public enum AppAnswer: Hashable, Sendable {
    /// The process of the launch is running, or ready.
    case running(LaunchID)
    /// The process did its work and exited.
    case done(reason: String)
    /// The launch failed.
    case launchFailed(reason: String)
    /// The process is gone, or was only asked to end.
    case terminated(isGone: Bool)
    /// Refused: the launch is running or being created.
    case alreadyRunning(LaunchID?)
    /// Refused: nothing of the app is running.
    case notRunning
    /// Refused or given up: processes of the launch survive SIGKILL.
    case unkillable(LaunchID)
}

/// A fact for operators.
public enum AppNotice: Hashable, Sendable {
    /// No process was started.
    case launchFailed(reason: String)
    /// The process ended by itself.
    case exited(LaunchID, ExitStatus)
    /// What follows an end, with the limit if one was reached.
    case decided(RestartDecision, Outcome, limit: RestartSettings.ReachedLimit?)
    /// The process ended while no watchdogd was running.
    case endedUnseen
    /// The processes that survived SIGKILL are gone.
    case remainsGone
    /// The pending restart failed, because its timer cannot be armed.
    case restartImpossible(reason: String)
}

/// One event that an ``AppMachine`` handles: when it came, and what it leads to so far.
struct AppStep {
    let now: Instant
    var effects: [AppEffect] = []

    mutating func add(_ effects: AppEffect...) { self.effects += effects }
}
