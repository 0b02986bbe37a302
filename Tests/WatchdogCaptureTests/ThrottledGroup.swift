// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A cgroup that uses up its real-time CPU time immediately, so that its real-time processes have no CPU until it is
/// lifted.
final class ThrottledGroup: Sendable {
    private static let parent = "/sys/fs/cgroup/cpu"

    /// Only version 1 limits the real-time CPU time of a group (sched-rt-group).
    static var isPossible: Bool {
        geteuid() == 0 && access("\(parent)/cpu.rt_runtime_us", F_OK) == 0
    }

    private let path = "\(parent)/watchdogd-test-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"

    init() throws {
        guard mkdir(path, 0o755) == 0 else { throw Subject.Failure(description: "mkdir \(path): \(errno)") }
        try write("50000", to: "cpu.rt_period_us")
        // A tick of 1 to 10 ms is charged at once, and takes thousands of periods to pay back. On a busy machine, a
        // thread of a higher priority may end the turn after some microseconds, which must take longer than
        // ``throttle(_:)`` waits.
        try write("1", to: "cpu.rt_runtime_us")
    }

    deinit {
        // The process has exited, but may not have left the group yet.
        try? eventually("an empty group") { rmdir(path) == 0 || errno != EBUSY }
    }

    /// Takes the CPU away from a computing process.
    func throttle(_ process: Int32) throws {
        try write("\(process)", to: "cgroup.procs")
        var parameters = sched_param(sched_priority: 1)
        guard sched_setscheduler(process, SCHED_RR, &parameters) == 0 else {
            throw Subject.Failure(description: "sched_setscheduler: \(errno)")
        }
        // A virtual machine may also lose its CPU for 100 ms.
        var before = ""
        var unchanged = 0
        try eventually("a throttled process") {
            let now = textOfFile("/proc/\(process)/schedstat") ?? ""
            unchanged = now == before ? unchanged + 1 : 0
            before = now
            return unchanged == 200
        }
    }

    /// Gives the CPU back within 50 ms.
    func lift() throws {
        try write("15000", to: "cpu.rt_runtime_us")
    }

    private func write(_ text: String, to name: String) throws {
        let descriptor = open("\(path)/\(name)", O_WRONLY | O_CLOEXEC)
        defer { close(descriptor) }
        guard Glibc.write(descriptor, text, text.utf8.count) == text.utf8.count else {
            throw Subject.Failure(description: "write \(text) to \(path)/\(name): \(errno)")
        }
    }
}
