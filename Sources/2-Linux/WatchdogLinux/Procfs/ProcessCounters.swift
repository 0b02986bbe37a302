// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase

/// What a process has used so far, with the children that it has waited for: proc_pid_stat(5), proc_pid_io(5).
public struct ProcessCounters: Hashable, Sendable {
    /// Page faults without I/O.
    public var minorFaults: Int64 = 0
    /// Page faults with I/O.
    public var majorFaults: Int64 = 0
    /// Bytes that the kernel read from disks for it; 0 without permission.
    public var readBytes: Int64 = 0
    /// CPU time of the process itself, exact, and of the children that it has waited for, in clock ticks.
    public var cpuTime: Duration = .zero

    /// Creates counters that are all zero.
    public init() {}

    /// Reads the counters of a process; nil if it is gone.
    public static func read(_ pid: Int32) -> ProcessCounters? {
        guard let line = Procfs.read("/proc/\(pid)/stat", limit: 4096), let time = ProcessCPU.time(pid),
            var counters = ProcessCounters(parsing: line)
        else { return nil }
        counters.cpuTime += time
        if let text = Procfs.read("/proc/\(pid)/io", limit: 4096) {
            counters.readBytes =
                text.split(separator: UInt8(ascii: "\n")).lazy.compactMap { line -> Int64? in
                    let key = "read_bytes: ".utf8
                    return line.starts(with: key) ? Int64(decimal: line.dropFirst(key.count)) : nil
                }.first ?? 0
        }
        return counters
    }

    /// The faults, and the CPU time of children only; nil if the line is malformed.
    init?(parsing line: [UInt8]) {
        guard let close = line.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        // fields[0] is field 3 in the man page.
        let fields = line[(close + 1)...].split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
        guard fields.count >= 15 else { return nil }
        let numbers = [7, 8, 9, 10, 13, 14].compactMap { Int64(decimal: fields[$0]) }
        guard numbers.count == 6 else { return nil }
        minorFaults = numbers[0].addingSaturated(numbers[1])
        majorFaults = numbers[2].addingSaturated(numbers[3])
        cpuTime = ProcessCPU.clockTick * numbers[4].addingSaturated(numbers[5])
    }

    /// Whether a process has children now.
    public static func hasChildren(_ pid: Int32) -> Bool { !Procfs.children(of: pid).isEmpty }

    /// Adds the counters of another process.
    public mutating func add(_ other: ProcessCounters) {
        minorFaults = minorFaults.addingSaturated(other.minorFaults)
        majorFaults = majorFaults.addingSaturated(other.majorFaults)
        readBytes = readBytes.addingSaturated(other.readBytes)
        cpuTime += other.cpuTime
    }
}

/// The CPU time of a process.
public enum ProcessCPU {
    /// The CPU time of all threads, including those that have ended, to the nanosecond; nil if the process is gone.
    ///
    /// The kernel provides a clock for it that anyone may read: clock_getcpuclockid(3). `/proc/PID/stat` counts in
    /// hundredths of a second.
    public static func time(_ pid: Int32) -> Duration? { clock(of: pid).flatMap { reading(of: $0) } }

    /// The CPU-time clock of a process; nil if the process is gone.
    ///
    /// The clock belongs to the process until its ID is reused.
    static func clock(of pid: Int32) -> clockid_t? {
        var clock = clockid_t()
        return clock_getcpuclockid(pid, &clock) == 0 ? clock : nil
    }

    static func reading(of clock: clockid_t) -> Duration? {
        var time = timespec()
        guard clock_gettime(clock, &time) == 0 else { return nil }
        return .nanoseconds(Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// The length of one clock tick in `/proc`.
    public static let clockTick = Duration.nanoseconds(1_000_000_000 / max(sysconf(Int32(_SC_CLK_TCK)), 1))
}
