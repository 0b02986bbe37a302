// SPDX-License-Identifier: Apache-2.0

import Glibc

/// What holds an app's processes together, so that all of them can be counted, stopped and killed.
public enum Containment {
    /// A cgroup: nothing escapes it, and emptiness is an event.
    case cgroup(Cgroup)
    /// `/proc`, for want of a cgroup.
    case processTree(ProcessTree)

    /// Kills all processes; returns before they are dead.
    ///
    /// A process tree may have grown meanwhile: to be repeated until ``isEmpty``.
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
            // The pidfds first, then another look: an id that was reused in between is not in the cgroup.
            let opened = cgroup.processes().compactMap { try? Pidfd(opening: $0) }
            let present = Set(cgroup.processes())
            for process in opened where present.contains(process.pid) { try? process.send(signal) }
        case .processTree(let tree): tree.send(signal)
        }
    }

    /// Stops all processes: frozen in a cgroup, which they do not notice, else by `SIGSTOP`.
    public func suspend() throws(LinuxError) {
        switch self {
        case .cgroup(let cgroup): try cgroup.freeze()
        case .processTree(let tree): tree.send(SIGSTOP)
        }
    }

    /// Lets all processes continue.
    public func resume() throws(LinuxError) {
        switch self {
        case .cgroup(let cgroup): try cgroup.thaw()
        case .processTree(let tree): tree.send(SIGCONT)
        }
    }

    /// True when no process of the app runs: frozen or stopped, whoever did it.
    public var isSuspended: Bool {
        switch self {
        case .cgroup(let cgroup): cgroup.isFrozen ?? false
        case .processTree(let tree): tree.members().allSatisfy { $0.state == .stopped || $0.state == .traced }
        }
    }

    /// The processes that have not ended.
    public func processes() -> [Int32] {
        switch self {
        case .cgroup(let cgroup): cgroup.processes()
        case .processTree(let tree): tree.processes()
        }
    }

    /// CPU time of all processes: in a cgroup of those that have ended, too.
    ///
    /// Nil when it cannot be read.
    public var cpuTime: Duration? {
        switch self {
        case .cgroup(let cgroup): cgroup.cpuTime
        case .processTree(let tree):
            tree.processes().compactMap { ProcessCPU.time($0) }.reduce(.zero, +)
        }
    }

    /// True when no process is left that has not ended.
    public var isEmpty: Bool {
        switch self {
        case .cgroup(let cgroup): cgroup.isPopulated.map { !$0 } ?? cgroup.processes().isEmpty
        case .processTree(let tree): tree.processes().isEmpty
        }
    }

    /// Becomes ``IOSource/Readiness/exceptional`` when ``isEmpty`` may have changed; nil when nothing tells.
    public var events: OwnedDescriptor? {
        if case .cgroup(let cgroup) = self { cgroup.events } else { nil }
    }

    /// The processes that are left, at most `limit` of them.
    public func survivors(limit: Int = 16) -> [Survivor] {
        switch self {
        case .cgroup(let cgroup): cgroup.processes().prefix(limit).compactMap { Survivor($0) }
        case .processTree(let tree): tree.members().prefix(limit).map { Survivor($0) }
        }
    }
}
