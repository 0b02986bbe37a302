// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogPolicy

/// How the latest launch went.
public struct LaunchSummary: Hashable, Sendable, Codable {
    /// From `execve` to ready.
    public var duration: Microseconds
    /// What made the app ready: `channel`, `notify`, `probe`, `exec` or `assumed`.
    public var source: String
    /// From the request to `execve`; nil if unknown.
    public var request: Microseconds?
    /// From `execve` to the app's hello; nil if there was none.
    public var hello: Microseconds?
    /// From `execve` to the first frame; nil if the app has not reported one.
    public var firstFrame: Microseconds?
    /// From `execve` until the app reported that it does what it was launched for.
    public var useful: Microseconds?
    /// From `execve` to the end of the last task that extended the launch; nil while one is open.
    public var extended: Microseconds?
    /// The tasks that still extend the launch; nil if there are none.
    public var openTasks: [String]?
    /// The phases up to ready, in their order; nil if they are not known.
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

/// How long a phase of a launch took.
public struct LaunchPhaseSummary: Hashable, Sendable, Codable {
    /// A ``WatchdogBase/LaunchPhaseName``, or one that a later watchdogd knows.
    public var name: String
    /// How long it took.
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
