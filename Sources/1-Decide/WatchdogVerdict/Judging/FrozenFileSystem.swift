// SPDX-License-Identifier: Apache-2.0

/// A wait for a frozen file system, as during a snapshot: FIFREEZE, ioctl_fs(2); fsfreeze(8).
///
/// Writers sleep uninterruptibly until it is thawed, as if they waited for a disk.
package enum FrozenFileSystem {
    /// The verdict's addition to the file.
    static let words = "on a frozen file system"

    /// The functions that wait for the end of a freeze, Linux 5.10 to 6.18: kernel/locking/percpu-rwsem.c.
    private static let functions: Set<String> = ["percpu_rwsem_wait", "__percpu_down_read"]
    /// Calls that wait there for another lock of that kind: for CPU hotplug, cgroup migration, and uprobes.
    private static let others: Set<String> = [
        "fork", "vfork", "clone", "clone3", "execve", "execveat", "exit", "exit_group", "sched_setaffinity",
        "perf_event_open", "bpf", "prctl", "membarrier",
    ]

    /// Whether a thread in this state waits for a frozen file system.
    ///
    /// - Parameter call: the system call; nil for a page fault that writes to a file mapping.
    package static func isAwaited(state: Character?, waitChannel: String?, call: String?) -> Bool {
        state == "D" && waitChannel.map(functions.contains) == true && call.map(others.contains) != true
    }
}
