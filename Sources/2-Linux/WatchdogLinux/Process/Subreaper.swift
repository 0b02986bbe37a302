// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import WatchdogBase

/// The duty to reap processes whose parents have died.
///
/// A child subreaper becomes the parent of orphaned descendants, like process 1: prctl(2), `PR_SET_CHILD_SUBREAPER`.
/// Orphans become children of the process's main thread, so the loop must run there.
public enum Subreaper {
    /// An orphan that was reaped.
    public struct Orphan: Hashable, Sendable {
        /// The process ID, which may be reused from now on.
        public let pid: Int32
        /// How it ended.
        public let exit: ProcessExit

        /// Creates an orphan from its parts.
        public init(pid: Int32, exit: ProcessExit) {
            self.pid = pid
            self.exit = exit
        }
    }

    /// Makes this process the subreaper of its descendants.
    public static func become() throws(LinuxError) {
        _ = try check("become a child subreaper") { wd_set_child_subreaper(true) }
    }

    /// True for process 1 and for a child subreaper.
    public static var isActive: Bool {
        getpid() == 1 || wd_get_child_subreaper() == 1
    }

    /// Reaps every exited child except the given ones, whose exit status is left for ``Pidfd/waitExit()``.
    ///
    /// Call it on `SIGCHLD` and after reaping a supervised process. Never waits.
    ///
    /// - Parameter supervised: The process IDs of children that somebody else reaps.
    public static func reapOrphans(except supervised: Set<Int32>) -> [Orphan] {
        var orphans: [Orphan] = []
        var result = wd_wait_result()
        while wd_peek_ended_child(&result) == 0, result.pid > 0 {
            guard !supervised.contains(result.pid) else {
                // The kernel reports only the first exited child; those behind it are looked up by ID.
                orphans += Procfs.children(of: getpid()).filter { !supervised.contains($0) }.compactMap { reap($0) }
                break
            }
            guard let orphan = reap(result.pid) else { break }
            orphans.append(orphan)
        }
        return orphans
    }

    /// Kills and reaps all children of this process, and those that become its children meanwhile; for a process that is
    /// about to exit, and has no programs that shall go on.
    ///
    /// Children whose end a thread waits for are left to it. One that cannot run for a second is left.
    public static func endChildren() {
        var left: Set<Int32> = []
        // Who forks faster than this kills is left.
        for _ in 0..<roundLimit {
            _ = reapOrphans(except: left)
            let present = Set(Procfs.children(of: getpid())).subtracting(UnawaitedChildren.processes).subtracting(left)
            guard !present.isEmpty else { return }
            for child in present where killChild(child)?.reapKilled(whileStuck: stuckLimit) != true {
                left.insert(child)
            }
        }
    }

    private static let roundLimit = 1_000
    private static let stuckLimit = Duration.seconds(1)

    /// A child with a pending change: it exited, was stopped or was continued.
    ///
    /// The kernel reports the same child until its change is consumed.
    public static func changedChild() -> Int32? {
        var result = wd_wait_result()
        guard wd_peek_changed_child(&result) == 0, result.pid > 0 else { return nil }
        return result.pid
    }

    /// Consumes the change of a child that nobody else handles; an exited one is reaped.
    public static func takeChange(of pid: Int32) {
        var result = wd_wait_result()
        _ = wd_wait_pid_change(pid, &result)
    }

    /// Kills a process, provided that it is a child of this one: the ID of a reaped one may be another process's.
    ///
    /// If no pidfd can be opened, only the number is left: then no other thread may reap the child meanwhile.
    ///
    /// - Returns: the child, if a pidfd could be opened.
    static func killChild(_ pid: Int32) -> Pidfd? {
        let process = try? Pidfd(opening: pid)
        var information = siginfo_t()
        let (kind, id) = process.map { (P_PIDFD, $0.descriptor.number) } ?? (P_PID, pid)
        guard waitid(kind, id_t(id), &information, WEXITED | WNOHANG | WNOWAIT) == 0 else { return nil }
        if let process { try? process.send(SIGKILL) } else { kill(pid, SIGKILL) }
        return process
    }

    private static func reap(_ pid: Int32) -> Orphan? {
        var result = wd_wait_result()
        guard wd_wait_pid(pid, &result) == 0, let status = ExitStatus(result) else { return nil }
        return Orphan(pid: pid, exit: ProcessExit(status: status, usage: ResourceUsage(result)))
    }
}
