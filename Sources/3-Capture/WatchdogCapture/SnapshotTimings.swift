// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// The durations of the parts of a capture.
public struct SnapshotTimings: Sendable, Equatable {
    /// The time at which the capture began.
    public var began: Instant
    /// The time to read `/proc`, before anything was stopped.
    public var facts: Duration
    /// The time from the first stop request to the release of the last thread, or to SIGKILL; zero if nothing was
    /// stopped.
    public var frozen: Duration
    /// The time from the beginning to SIGKILL; nil if the process was not to be killed.
    public var untilKill: Duration?
    /// The time from the beginning to the end of the last traced thread; nil if the process was not to be killed.
    public var untilReaped: Duration?
    /// The duration of the whole capture.
    public var total: Duration
}
