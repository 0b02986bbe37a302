// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// What the next watchdogd needs to know of an app, apart from its launches.
public struct SavedApp: Hashable, Sendable {
    /// The phase of the app.
    public enum Stage: Hashable, Sendable, Codable {
        /// It is not running, and nothing will start it.
        case stopped
        /// Its preparations are running.
        case preparing
        /// It is running or being ended.
        case live
        /// It is due to be launched.
        case waiting(until: Instant)
        /// It failed too often.
        case failed
        /// Its processes survive SIGKILL.
        case unkillable

        private enum CodingKeys: String, CodingKey { case stopped, preparing, live, waiting, failed, unkillable }
        private enum WaitingCodingKeys: String, CodingKey { case until }
    }

    /// What follows the end of the current launch.
    public enum AfterEnd: String, Hashable, Sendable, Codable {
        /// Whatever the configuration says.
        case asConfigured = "asConfigured"
        /// Nothing.
        case stop = "stop"
        /// Another launch.
        case relaunch = "relaunch"
    }

    /// The phase of the app.
    public var stage: Stage
    /// What follows the end of the current launch.
    public var afterEnd: AfterEnd
    /// The restarts so far.
    public var restarts: RestartMachine.Saved
    /// The number of requested restarts.
    public var requestedRestarts: Int
    /// The launches whose ends are accounted for, but of which something may still be saved.
    public var accounted: [LaunchID]
    /// The latest launch that was counted.
    public var counted: LaunchID?

    /// Creates the saved state of an app.
    public init(
        stage: Stage, afterEnd: AfterEnd, restarts: RestartMachine.Saved, requestedRestarts: Int, accounted: [LaunchID],
        counted: LaunchID?
    ) {
        self.stage = stage
        self.afterEnd = afterEnd
        self.restarts = restarts
        self.requestedRestarts = requestedRestarts
        self.accounted = accounted
        self.counted = counted
    }
}
