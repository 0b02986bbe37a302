// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// One line of `watchdogd top`: the daemon's summary of an app, and the usage of its processes.
public struct TopApp: Hashable, Sendable {
    /// The daemon's summary.
    public var summary: AppSummary
    /// The 99th percentile of the pings, or else of the probes, answered since the last reading; nil without any.
    public var ping: Duration?
    /// The CPU time since the last reading, as a share of one CPU: 1.5 for one and a half CPUs; nil if unknown.
    public var cpu: Double?
    /// Resident memory of all processes, in bytes; nil if unknown.
    public var memory: UInt64?
    /// The threads of all processes; nil if unknown.
    public var tasks: Int?

    /// Creates a line.
    public init(
        _ summary: AppSummary, ping: Duration? = nil, cpu: Double? = nil, memory: UInt64? = nil, tasks: Int? = nil
    ) {
        self.summary = summary
        self.ping = ping
        self.cpu = cpu
        self.memory = memory
        self.tasks = tasks
    }
}
