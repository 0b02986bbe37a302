// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogVerdict

/// The facts about the process as a whole in a snapshot.
public struct SnapshotProcess: Sendable, Equatable {
    /// The process ID.
    public var id: Int32
    /// `/proc/PID/stat` field 22, in clock ticks since boot.
    public var startTime: UInt64
    /// The real user ID.
    public var user: UInt32
    /// The parent's process ID.
    public var parent: Int32
    /// The main thread's name (`comm`).
    public var name: String
    /// The target of `/proc/PID/exe`, or an empty string.
    public var executable: String
    /// The machine's architecture: `x86-64`.
    public var architecture: String
    /// The time at which the capture began.
    public var capturedAt: Instant
    /// The time for which the process was stopped.
    public var frozen: Duration
    /// The method of the capture.
    public var method: CapturedProcess.Method
    /// The reason why no better method was possible; nil if none was needed.
    public var methodReason: String?
    /// The process ID of an attached debugger, or nil.
    public var tracer: Int32?
    /// Which limits truncated the snapshot, or nil.
    public var truncation: String?
}
