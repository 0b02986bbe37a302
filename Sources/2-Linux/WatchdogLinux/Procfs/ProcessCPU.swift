// SPDX-License-Identifier: Apache-2.0

import Glibc

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
