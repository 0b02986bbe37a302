// SPDX-License-Identifier: Apache-2.0

import CLinux
public import WatchdogBase

/// How a process ended, and the resources that it and its reaped children used.
public struct ProcessExit: Hashable, Sendable {
    /// The exit status.
    public let status: ExitStatus
    /// The resources used; nil if somebody else reaped the process.
    public let usage: ResourceUsage?

    /// Creates an end from its parts.
    public init(status: ExitStatus, usage: ResourceUsage?) {
        self.status = status
        self.usage = usage
    }
}

/// The resources that a process used during its life: getrusage(2).
public struct ResourceUsage: Hashable, Sendable {
    /// CPU time in user mode.
    public let userTime: Duration
    /// CPU time in the kernel.
    public let systemTime: Duration
    /// The peak resident memory, in bytes.
    public let maximumResidentBytes: Int64
    /// Page faults that needed I/O.
    public let majorFaults: Int64
    /// Page faults that did not need I/O.
    public let minorFaults: Int64
    /// How often it gave up the CPU.
    public let voluntarySwitches: Int64
    /// How often it was preempted.
    public let involuntarySwitches: Int64
    /// Bytes that the kernel read from disks for it: getrusage(2), `ru_inblock`, in units of 512 bytes.
    public let readBytes: Int64

    /// Creates a usage from its parts.
    public init(
        userTime: Duration,
        systemTime: Duration,
        maximumResidentBytes: Int64,
        majorFaults: Int64,
        minorFaults: Int64,
        voluntarySwitches: Int64,
        involuntarySwitches: Int64,
        readBytes: Int64 = 0
    ) {
        self.userTime = userTime
        self.systemTime = systemTime
        self.maximumResidentBytes = maximumResidentBytes
        self.majorFaults = majorFaults
        self.minorFaults = minorFaults
        self.voluntarySwitches = voluntarySwitches
        self.involuntarySwitches = involuntarySwitches
        self.readBytes = readBytes
    }

    init(_ result: wd_wait_result) {
        userTime = .microseconds(result.user_microseconds)
        systemTime = .microseconds(result.system_microseconds)
        maximumResidentBytes = result.max_resident_kilobytes * 1024
        majorFaults = result.major_faults
        minorFaults = result.minor_faults
        voluntarySwitches = result.voluntary_switches
        involuntarySwitches = result.involuntary_switches
        readBytes = result.input_blocks * 512
    }
}

extension ExitStatus {
    /// Nil if the change is not an exit.
    init?(_ result: wd_wait_result) {
        switch result.change {
        case WD_CHANGE_EXITED: self = .exited(code: result.status)
        case WD_CHANGE_KILLED: self = .signaled(signal: result.status, coreDumped: false)
        case WD_CHANGE_DUMPED: self = .signaled(signal: result.status, coreDumped: true)
        default: return nil
        }
    }
}
