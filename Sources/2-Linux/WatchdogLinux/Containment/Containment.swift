// SPDX-License-Identifier: Apache-2.0

import Glibc

/// What groups an app's processes, so that all of them can be counted, stopped and killed.
public enum Containment {
    /// A cgroup: nothing escapes it, and its becoming empty is an event.
    case cgroup(Cgroup)
    /// `/proc`, if no cgroup is available.
    case processTree(ProcessTree)

    /// Kills all processes; returns before they are dead.
    ///
    /// A process tree may grow during the call; repeat it until ``isEmpty``.
    public func kill() throws(LinuxError) {
        switch self {
        case .cgroup(let cgroup): try cgroup.kill()
        case .processTree(let tree): tree.send(SIGKILL)
        }
    }

    /// Sends a signal to every process.
    public func send(_ signal: Int32) {
        switch self {
        case .cgroup(let cgroup):
            // Usually nothing is left when the main process has ended: one read instead of four lists.
            guard cgroup.isPopulated != false else { return }
            // Open the pidfds first, then list again: a process whose ID was reused in between is not in the cgroup.
            let opened = cgroup.processes().compactMap { try? Pidfd(opening: $0) }
            let present = Set(cgroup.processes())
            for process in opened where present.contains(process.pid) { try? process.send(signal) }
        case .processTree(let tree): tree.send(signal)
        }
    }

    /// Suspends all processes: freezes the cgroup, which they do not notice, or else sends `SIGSTOP`.
    public func suspend() throws(LinuxError) {
        switch self {
        case .cgroup(let cgroup): try cgroup.freeze()
        case .processTree(let tree): tree.send(SIGSTOP)
        }
    }

    /// Resumes all processes.
    public func resume() throws(LinuxError) {
        switch self {
        case .cgroup(let cgroup): try cgroup.thaw()
        case .processTree(let tree): tree.send(SIGCONT)
        }
    }

    /// Whether no process of the app can run because all are frozen or stopped, no matter by whom.
    public var isSuspended: Bool {
        switch self {
        case .cgroup(let cgroup): cgroup.isFrozen ?? false
        case .processTree(let tree): tree.members().allSatisfy { $0.state == .stopped || $0.state == .traced }
        }
    }

    /// The live processes.
    public func processes() -> [Int32] {
        switch self {
        case .cgroup(let cgroup): cgroup.processes()
        case .processTree(let tree): tree.processes()
        }
    }

    /// The processes, in a form that another thread may read.
    public var members: TreeMembers {
        switch self {
        case .cgroup(let cgroup): .cgroup(cgroup)
        case .processTree(let tree): .listed(tree.members())
        }
    }

    /// The CPU time of all processes; for a cgroup, including those that have exited.
    ///
    /// Nil when it cannot be read.
    public var cpuTime: Duration? {
        switch self {
        case .cgroup(let cgroup): cgroup.cpuTime
        case .processTree(let tree):
            tree.processes().compactMap { ProcessCPU.time($0) }.reduce(.zero, +)
        }
    }

    /// Whether no live process is left.
    public var isEmpty: Bool {
        switch self {
        case .cgroup(let cgroup): cgroup.isPopulated.map { !$0 } ?? cgroup.processes().isEmpty
        case .processTree(let tree): tree.processes().isEmpty
        }
    }

    /// Becomes ``IOSource/Readiness/exceptional`` when ``isEmpty`` may have changed; nil without such an event.
    public var events: OwnedDescriptor? {
        if case .cgroup(let cgroup) = self { cgroup.events } else { nil }
    }

    /// The remaining processes, at most `limit` of them.
    public func survivors(limit: Int = 16) -> [Survivor] {
        switch self {
        case .cgroup(let cgroup): cgroup.processes().prefix(limit).compactMap { Survivor($0) }
        case .processTree(let tree): tree.members().prefix(limit).map { Survivor($0) }
        }
    }
}
