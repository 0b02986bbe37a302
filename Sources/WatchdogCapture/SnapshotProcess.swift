// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy
public import WatchdogReport

/// What a snapshot says of the process as a whole.
public struct SnapshotProcess: Sendable, Equatable {
    /// Process id.
    public var id: Int32
    /// `/proc/PID/stat` field 22, in clock ticks since boot.
    public var startTime: UInt64
    /// Real user id.
    public var user: UInt32
    /// Process id of the parent.
    public var parent: Int32
    /// The main thread's name (`comm`).
    public var name: String
    /// Where `/proc/PID/exe` points, or an empty string.
    public var executable: String
    /// The machine's architecture: `x86-64`.
    public var architecture: String
    /// When the capture began.
    public var capturedAt: Instant
    /// How long the process was stopped.
    public var frozen: Duration
    /// How the stacks were taken.
    public var method: CapturedProcess.Method
    /// Why no better method was possible, or nil.
    public var methodReason: String?
    /// Process id of a debugger that was attached, or nil.
    public var tracer: Int32?
    /// Which limits cut something off, or nil.
    public var truncation: String?
}
