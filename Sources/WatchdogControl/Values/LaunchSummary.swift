// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// How the latest launch went.
public struct LaunchSummary: Hashable, Sendable, Codable {
    /// From `execve` to ready.
    public var duration: Microseconds
    /// What made the app ready: `channel`, `notify`, `probe`, `exec` or `assumed`.
    public var source: String

    /// Creates a summary of a launch that is over.
    public init(duration: Duration, source: ReadinessSource) {
        self.duration = Microseconds(duration)
        self.source = source.rawValue
    }

    private enum CodingKeys: String, CodingKey {
        case duration = "durationUSec"
        case source
    }
}
