// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// The state of an app, with what belongs to it.
enum AppState {
    /// Until a launch is resumed or adopted, or ``AppEvent/begun``.
    case inheriting(SavedApp.Stage?)
    case stopped
    case creating
    case preparing(LaunchID)
    /// `silence` is when a process that has sent nothing counts as ready.
    case live(LaunchID, silence: Instant?)
    case waiting(until: Instant)
    case failed
    indirect case unkillable(Unkillable)
    case forgotten

    /// A launch with processes that survive SIGKILL.
    struct Unkillable {
        let launch: LaunchID
        let outcome: Outcome
        /// When to check whether they are gone.
        var inspection: Instant
        var isReporting: Bool
    }

    var phase: AppPhase {
        switch self {
        case .inheriting, .stopped, .forgotten: .stopped
        case .creating: .creating
        case .preparing(let launch): .preparing(launch)
        case .live(let launch, _): .live(launch)
        case .waiting(let instant): .waiting(until: instant)
        case .failed: .failed
        case .unkillable(let remains): .unkillable(remains.launch)
        }
    }

    var current: LaunchID? {
        switch self {
        case .preparing(let launch), .live(let launch, _): launch
        case .inheriting, .stopped, .creating, .waiting, .failed, .unkillable, .forgotten: nil
        }
    }

    var deadline: Instant? {
        switch self {
        case .live(_, let silence): silence
        case .waiting(let instant): instant
        case .unkillable(let remains): remains.inspection
        case .inheriting, .stopped, .creating, .preparing, .failed, .forgotten: nil
        }
    }

    var isReporting: Bool {
        if case .unkillable(let remains) = self { remains.isReporting } else { false }
    }

    /// Nil for an app about which the next watchdogd needs to know nothing.
    var saved: SavedApp.Stage? {
        switch self {
        case .inheriting(let stage): stage ?? .stopped
        case .stopped: .stopped
        case .creating, .preparing: .preparing
        case .live: .live
        case .waiting(let instant): .waiting(until: instant)
        case .failed: .failed
        case .unkillable: .unkillable
        case .forgotten: nil
        }
    }
}

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

/// The state of the app's configuration.
public enum AppStanding: Hashable, Sendable {
    /// Enabled: it is launched when watchdogd starts.
    case enabled
    /// Disabled: it is launched on request.
    case disabled
    /// Invalid: a running process continues, and nothing follows it.
    case invalid
    /// Removed: its process is ended.
    case removed
}
