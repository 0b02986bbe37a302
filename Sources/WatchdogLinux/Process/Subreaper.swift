// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import WatchdogPolicy

/// The duty to reap processes whose parents have died.
///
/// A child subreaper is the parent to which orphaned descendants go, as to process 1: prctl(2),
/// `PR_SET_CHILD_SUBREAPER`. Orphans go to the process's main thread, so the loop belongs there.
public enum Subreaper {
    /// An orphan that was reaped.
    public struct Orphan: Hashable, Sendable {
        /// Its process id, free from now on.
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

    /// Reaps every ended child but those excepted, whose exit status is left for ``Pidfd/waitExit()``.
    ///
    /// To be called on `SIGCHLD` and after reaping a supervised process. Never waits.
    ///
    /// - Parameter supervised: Process ids of children that somebody else reaps.
    public static func reapOrphans(except supervised: Set<Int32>) -> [Orphan] {
        var orphans: [Orphan] = []
        var result = wd_wait_result()
        while wd_peek_ended_child(&result) == 0, result.pid > 0 {
            guard !supervised.contains(result.pid) else {
                // The kernel shows the first ended child only; those behind it are found by name.
                orphans += Procfs.children(of: getpid()).filter { !supervised.contains($0) }.compactMap { reap($0) }
                break
            }
            guard let orphan = reap(result.pid) else { break }
            orphans.append(orphan)
        }
        return orphans
    }

    /// A child to which something happened that nobody has taken note of: it ended, was stopped or was continued.
    ///
    /// The kernel shows the same one until its change is taken.
    public static func changedChild() -> Int32? {
        var result = wd_wait_result()
        guard wd_peek_changed_child(&result) == 0, result.pid > 0 else { return nil }
        return result.pid
    }

    /// Takes note of what happened to a child that nobody else cares for; one that has ended is reaped.
    public static func takeChange(of pid: Int32) {
        var result = wd_wait_result()
        _ = wd_wait_pid_change(pid, &result)
    }

    private static func reap(_ pid: Int32) -> Orphan? {
        var result = wd_wait_result()
        guard wd_wait_pid(pid, &result) == 0, let status = ExitStatus(result) else { return nil }
        return Orphan(pid: pid, exit: ProcessExit(status: status, usage: ResourceUsage(result)))
    }
}
