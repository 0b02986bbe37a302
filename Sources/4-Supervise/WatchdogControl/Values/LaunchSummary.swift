// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogPolicy

/// The latest launch of an app.
public struct LaunchSummary: Hashable, Sendable, Codable {
    /// The time from `execve` to ready.
    public var duration: Microseconds
    /// The source of readiness: `channel`, `notify`, `probe`, `exec` or `assumed`.
    public var source: String
    /// The time from the request to `execve`; nil if unknown.
    public var request: Microseconds?
    /// The time from `execve` to the app's greeting; nil without one.
    public var hello: Microseconds?
    /// The time from `execve` to the first frame; nil if the app has not reported one.
    public var firstFrame: Microseconds?
    /// The time from `execve` until the app reported that it does its actual work.
    public var useful: Microseconds?
    /// The time from `execve` to the end of the last task that extended the launch; nil while one is open.
    public var extended: Microseconds?
    /// The tasks that still extend the launch; nil without any.
    public var openTasks: [String]?
    /// The phases up to ready, in their order; nil if unknown.
    public var phases: [LaunchPhaseSummary]?

    /// Creates the summary of a complete launch.
    public init(duration: Duration, source: ReadinessSource) {
        self.duration = Microseconds(duration)
        self.source = source.rawValue
    }

    private enum CodingKeys: String, CodingKey {
        case duration = "durationUSec"
        case source
        case request = "requestUSec"
        case hello = "helloUSec"
        case firstFrame = "firstFrameUSec"
        case useful = "usefulUSec"
        case extended = "extendedUSec"
        case openTasks, phases
    }
}

/// A phase of a launch.
public struct LaunchPhaseSummary: Hashable, Sendable, Codable {
    /// A ``WatchdogBase/LaunchPhaseName``, or one of a newer watchdogd.
    public var name: String
    /// The duration of the phase.
    public var duration: Microseconds

    /// Creates the summary of a phase.
    public init(_ phase: LaunchPhaseName, _ duration: Duration) {
        name = phase.rawValue
        self.duration = Microseconds(duration)
    }

    private enum CodingKeys: String, CodingKey {
        case name
        case duration = "durationUSec"
    }
}
