// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// What happens to an app, as reported to an ``AppMachine``.
public enum AppEvent: Hashable, Sendable {
    // MARK: Start of watchdogd

    /// The previous watchdogd left this launch; the latest launch of the app comes first.
    ///
    /// - `isOver`: its process has ended, and its saved state says so.
    case inherited(LaunchID, isOver: Bool)
    /// Answers ``AppEffect/resume(_:)``.
    case resumed(LaunchID, Resumption)
    /// A process of the app was found, but its saved state is lost.
    case found(LaunchID)
    /// Everything that the previous watchdogd left is known; sent once, before any request.
    case begun

    // MARK: Launches

    /// Answers ``AppEffect/create``.
    case created(LaunchID, hasPreparations: Bool)
    /// Answers ``AppEffect/create``: there is no launch.
    case creationFailed(reason: String)
    /// Every command of ``AppEffect/prepare(_:)`` succeeded.
    case prepared(LaunchID)
    /// A command of ``AppEffect/prepare(_:)`` failed.
    case preparationFailed(LaunchID, reason: String)
    /// The process is running; `mayBeSilent` if it may never report readiness.
    case launched(LaunchID, mayBeSilent: Bool)
    /// The process is ready.
    case ready(LaunchID)
    /// Answers ``AppEffect/inspect(_:)``.
    ///
    /// - `isSilent`: the process is still launching and has sent nothing.
    /// - `isGone`: no process of the launch remains.
    case inspected(LaunchID, isSilent: Bool, isGone: Bool)
    /// The process has ended, or cannot be killed.
    case ended(LaunchID, End)
    /// No report of the launch is being written anymore.
    case reported(LaunchID)
    /// Answers ``AppEffect/release(_:)``: nothing of the launch remains.
    case released(LaunchID)

    // MARK: Time

    /// ``AppMachine/nextDeadline`` was reached.
    case deadlineReached
    /// The timer for ``AppMachine/nextDeadline`` could not be armed.
    case timerFailed(reason: String)

    // MARK: Operators

    /// Somebody requests a launch of the app.
    case launchRequested(AppWaiter)
    /// Somebody requests the app's end; the second time, it is killed.
    case terminationRequested(AppWaiter)
    /// Somebody requests a restart of the app.
    case restartRequested(AppWaiter)
    /// The app has a new configuration.
    ///
    /// - `needsNewProcess`: a process that was launched with the previous configuration cannot continue.
    case configured(restart: Shared<RestartSettings>, isEnabled: Bool, needsNewProcess: Bool)
    /// The configuration of the app was removed.
    case unconfigured
    /// watchdogd ends together with its apps; the second time, they are killed.
    case shutDown

    /// What remains of a launch of the previous watchdogd.
    public enum Resumption: Hashable, Sendable {
        /// Its process is running, or its end is reported next; `isEnding` if it was already asked to end.
        case present(launchedAt: Instant?, isEnding: Bool)
        /// No process remains; `hasRun` if there was one, which ended while no watchdogd was running.
        case absent(launchedAt: Instant?, hasRun: Bool)
    }

    /// How a launch ended.
    public struct End: Hashable, Sendable {
        /// How its process ended.
        public let outcome: Outcome
        /// Whether the kernel killed it because memory was exhausted.
        public let isCausedByMemory: Bool
        /// Whether reports of the launch are still being written.
        public let hasPendingReports: Bool
        /// The explanation for clients that wait for the launch.
        public let reason: String

        /// Creates the end of a launch.
        public init(_ outcome: Outcome, isCausedByMemory: Bool = false, hasPendingReports: Bool, reason: String) {
            self.outcome = outcome
            self.isCausedByMemory = isCausedByMemory
            self.hasPendingReports = hasPendingReports
            self.reason = reason
        }
    }
}

/// A client that made a request and gets exactly one ``AppEffect/answer(_:_:)``.
public struct AppWaiter: Hashable, Sendable {
    /// Identifies the waiter among those of the app.
    public let id: Int
    /// Whether the answer comes when the request is fulfilled, rather than when it is started.
    public let waits: Bool

    /// Creates a waiter.
    public init(id: Int, waits: Bool) {
        self.id = id
        self.waits = waits
    }
}

/// Identifies one launch of an app, also across watchdogd processes.
public struct LaunchID: Hashable, Sendable, CustomStringConvertible {
    /// The text that the launch's files and descriptors are named after.
    public let description: String

    /// Creates an identifier from its text.
    public init(_ text: String) {
        description = text
    }
}
