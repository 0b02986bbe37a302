// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// What is known of the daemon itself at one instant.
public struct DaemonReading: Hashable, Sendable {
    /// The version of watchdogd.
    public var version: String
    /// When it began to count, since 1970-01-01 00:00 UTC.
    public var started: Duration
    /// Configured apps.
    public var apps = 0
    /// Configuration files that cannot be used.
    public var invalidFiles = 0
    /// How late the loop woke for its timers.
    public var loopLateness = FixedHistogram(bounds: [])
    /// The longest iteration of the loop in the last minute.
    public var longestTurn: Duration = .zero
    /// Reports that could not be written.
    public var failedReports = 0
    /// Entries that journald did not take.
    public var droppedEntries = 0
    /// Lines that standard error did not take.
    public var droppedLines = 0

    /// Creates a reading.
    public init(version: String, started: Duration) {
        self.version = version
        self.started = started
    }
}
