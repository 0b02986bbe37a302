// SPDX-License-Identifier: Apache-2.0

import Glibc
package import WatchdogLinux

/// The processes that remain when a run is over.
///
/// Without a cgroup, a daemon that has left its session, its parent and its environment cannot be attributed to an app.
/// It is still a child of the subreaper, and if there is only one app, it belongs to that app.
package enum RemainingProcesses {
    /// Kills and reaps all other children, including the launcher, for at most a tenth of a second.
    ///
    /// Isolation: the main thread, which inherits orphans, once nothing else in this process has a child.
    ///
    /// - Parameter sources: processes that ``ProcessSources/end()`` ends, with all that was forked from them.
    package static func end(except sources: Set<Int32>) {
        for _ in 0..<100 {
            _ = Subreaper.reapOrphans(except: [])
            var information = siginfo_t()
            // ECHILD: no child remains.
            guard waitid(P_ALL, 0, &information, WEXITED | WNOHANG | WNOWAIT) == 0 else { return }
            // Other threads have children, too: names are searched for in the background. The id of a child cannot be
            // reused before the child is reaped.
            let strays = Procfs.children(of: getpid()).filter { !sources.contains($0) }
            guard !strays.isEmpty else { return }
            for child in strays { kill(child, SIGKILL) }
            poll(nil, 0, 1)
        }
    }
}

extension ProcessSources {
    /// Forks both; call it on the main thread before any other thread exists.
    ///
    /// - Parameter closer: what the program left that this process executed before.
    /// - Throws: ``RunError``, because without them a stranger could keep watchdogd from ending.
    package static func forked(after closer: CloserSource? = nil) throws(RunError) -> ProcessSources {
        do throws(LinuxError) {
            return try start(after: closer)
        } catch {
            throw RunError.internalFailure("\(error)")
        }
    }
}
