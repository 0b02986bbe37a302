// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// The phase of an app.
public enum AppPhase: Hashable, Sendable {
    /// It is not running, and nothing will start it.
    case stopped
    /// A launch is being created.
    case creating
    /// The commands that precede its process are running.
    case preparing(LaunchID)
    /// It is running or being ended.
    case live(LaunchID)
    /// It is due to be launched.
    case waiting(until: Instant)
    /// It failed too often, and stays down until somebody launches it.
    case failed
    /// Its processes survive SIGKILL; nothing else of it is started.
    case unkillable(LaunchID)

    /// Whether a launch would start a process: none is running, or is being started.
    public var isDown: Bool {
        switch self {
        case .stopped, .waiting, .failed: true
        case .creating, .preparing, .live, .unkillable: false
        }
    }
}
