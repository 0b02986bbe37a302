// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The CPU time of a process.
public enum ProcessCPU {
    /// CPU time of all threads, ended ones included, to the nanosecond; nil if the process is gone.
    ///
    /// The kernel keeps a clock for it that anybody may read: clock_getcpuclockid(3). `/proc/PID/stat` counts in
    /// hundredths of a second.
    public static func time(_ pid: Int32) -> Duration? {
        var clock = clockid_t()
        var time = timespec()
        guard clock_getcpuclockid(pid, &clock) == 0, clock_gettime(clock, &time) == 0 else { return nil }
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// The time that one clock tick of `/proc` stands for.
    public static let clockTick = Duration.nanoseconds(1_000_000_000 / max(sysconf(Int32(_SC_CLK_TCK)), 1))
}
