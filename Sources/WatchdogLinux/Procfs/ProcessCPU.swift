// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The CPU time of a process.
public enum ProcessCPU {
    /// CPU time of all threads, ended ones included, to the nanosecond; nil if the process is gone.
    ///
    /// The kernel keeps a clock for it that anybody may read: clock_getcpuclockid(3). `/proc/PID/stat` counts in
    /// hundredths of a second.
    public static func time(_ pid: Int32) -> Duration? { clock(of: pid).flatMap { reading(of: $0) } }

    /// The clock of a process; nil if it is gone.
    ///
    /// It stays the process's as long as nobody else gets its id.
    static func clock(of pid: Int32) -> clockid_t? {
        var clock = clockid_t()
        return clock_getcpuclockid(pid, &clock) == 0 ? clock : nil
    }

    static func reading(of clock: clockid_t) -> Duration? {
        var time = timespec()
        guard clock_gettime(clock, &time) == 0 else { return nil }
        return .nanoseconds(Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// The time that one clock tick of `/proc` stands for.
    public static let clockTick = Duration.nanoseconds(1_000_000_000 / max(sysconf(Int32(_SC_CLK_TCK)), 1))
}
