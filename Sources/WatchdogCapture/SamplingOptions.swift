// SPDX-License-Identifier: Apache-2.0

/// How to look at a process again and again.
public struct SamplingOptions: Sendable, Equatable {
    /// A descriptor that refers to the process, or nil to open one by process id; it stays the caller's.
    public var pidfd: Int32?
    /// `/proc/PID/stat` field 22 that the process must have, in clock ticks, or nil.
    public var startTime: UInt64?
    /// From one look to the next.
    public var interval: Duration
    /// From the first look to the last.
    public var duration: Duration
    /// Whether threads on a CPU are stopped for a moment: `/proc` does not tell where they are.
    ///
    /// Threads that sleep are never stopped.
    public var stopsRunning: Bool

    /// Creates options.
    public init(
        pidfd: Int32? = nil, startTime: UInt64? = nil, interval: Duration = .milliseconds(10),
        duration: Duration = .seconds(3), stopsRunning: Bool = true
    ) {
        self.pidfd = pidfd
        self.startTime = startTime
        self.interval = interval
        self.duration = duration
        self.stopsRunning = stopsRunning
    }
}
