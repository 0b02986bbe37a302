// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// The state and the counts of the daemon itself at one instant.
public struct DaemonReading: Hashable, Sendable {
    /// The version of watchdogd.
    public var version: String
    /// The start of counting, since 1970-01-01 00:00 UTC.
    public var started: Duration
    /// The number of configured apps.
    public var apps = 0
    /// The number of configuration files with errors.
    public var invalidFiles = 0
    /// The delays of the loop's timers.
    public var loopLateness = FixedHistogram(bounds: [])
    /// The longest iteration of the loop in the last minute.
    public var longestTurn: Duration = .zero
    /// The number of reports that could not be written.
    public var failedReports = 0
    /// The number of entries that journald did not accept.
    public var droppedEntries = 0
    /// The number of lines that standard error did not accept.
    public var droppedLines = 0

    /// Creates a reading with all counts zero.
    public init(version: String, started: Duration) {
        self.version = version
        self.started = started
    }
}
