// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// How long each part of a capture took.
public struct SnapshotTimings: Sendable, Equatable {
    /// When it began.
    public var began: Instant
    /// Reading `/proc`, before anything was stopped.
    public var facts: Duration
    /// From the first thread asked to stop to the last one released, or to SIGKILL; zero when nothing was stopped.
    public var frozen: Duration
    /// From the beginning to SIGKILL; nil when the process was not to be killed.
    public var untilKill: Duration?
    /// From the beginning to the end of the last traced thread; nil when the process was not to be killed.
    public var untilReaped: Duration?
    /// The whole capture.
    public var total: Duration
}
