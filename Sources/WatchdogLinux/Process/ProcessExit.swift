// SPDX-License-Identifier: Apache-2.0

import CLinux
public import WatchdogPolicy

/// How a process ended, and what it and its reaped children used.
public struct ProcessExit: Hashable, Sendable {
    /// How it ended.
    public let status: ExitStatus
    /// What it used; nil when somebody else reaped it.
    public let usage: ResourceUsage?

    /// Creates an end from its parts.
    public init(status: ExitStatus, usage: ResourceUsage?) {
        self.status = status
        self.usage = usage
    }
}

/// What a process used in its life: getrusage(2).
public struct ResourceUsage: Hashable, Sendable {
    /// CPU time in user mode.
    public let userTime: Duration
    /// CPU time in the kernel.
    public let systemTime: Duration
    /// The most memory resident at any time, in bytes.
    public let maximumResidentBytes: Int64
    /// Page faults that needed I/O.
    public let majorFaults: Int64
    /// Page faults that did not.
    public let minorFaults: Int64
    /// Times it gave up the CPU.
    public let voluntarySwitches: Int64
    /// Times it was preempted.
    public let involuntarySwitches: Int64

    /// Creates a usage from its parts.
    public init(
        userTime: Duration,
        systemTime: Duration,
        maximumResidentBytes: Int64,
        majorFaults: Int64,
        minorFaults: Int64,
        voluntarySwitches: Int64,
        involuntarySwitches: Int64
    ) {
        self.userTime = userTime
        self.systemTime = systemTime
        self.maximumResidentBytes = maximumResidentBytes
        self.majorFaults = majorFaults
        self.minorFaults = minorFaults
        self.voluntarySwitches = voluntarySwitches
        self.involuntarySwitches = involuntarySwitches
    }

    init(_ result: wd_wait_result) {
        userTime = .microseconds(result.user_microseconds)
        systemTime = .microseconds(result.system_microseconds)
        maximumResidentBytes = result.max_resident_kilobytes * 1024
        majorFaults = result.major_faults
        minorFaults = result.minor_faults
        voluntarySwitches = result.voluntary_switches
        involuntarySwitches = result.involuntary_switches
    }
}

extension ExitStatus {
    /// Nil for a change that is not an end.
    init?(_ result: wd_wait_result) {
        switch result.change {
        case WD_CHANGE_EXITED: self = .exited(code: result.status)
        case WD_CHANGE_KILLED: self = .signaled(signal: result.status, coreDumped: false)
        case WD_CHANGE_DUMPED: self = .signaled(signal: result.status, coreDumped: true)
        default: return nil
        }
    }
}
