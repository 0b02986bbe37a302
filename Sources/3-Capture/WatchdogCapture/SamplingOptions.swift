// SPDX-License-Identifier: Apache-2.0

/// The options of a sampling.
public struct SamplingOptions: Sendable, Equatable {
    /// A descriptor of the process, which the caller continues to own; nil to open one by process ID.
    public var pidfd: Int32?
    /// The value that `/proc/PID/stat` field 22 must have, in clock ticks; nil to skip the check.
    public var startTime: UInt64?
    /// The time between two samples.
    public var interval: Duration
    /// The time from the first sample to the last.
    public var duration: Duration
    /// Whether to stop threads on a CPU briefly: `/proc` does not show their registers.
    ///
    /// Sleeping threads are never stopped.
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
