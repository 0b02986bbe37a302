// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogConfiguration
import WatchdogLinux
import WatchdogPolicy

/// A command of an app that is not its program, as the next watchdogd finds it again.
struct KeptCommand: Codable, Equatable {
    /// Nil when it is about to be started.
    var pid: Int32?
    var startTime: UInt64?
    /// The cgroup in which nothing else is; nil when it has none.
    var cgroup: String?

    /// The process, if it still is the one that was started.
    func find() -> Pidfd? {
        let members = pid == nil ? cgroup.flatMap { try? Cgroup(opening: $0) }?.processes() ?? [] : []
        let root = pid ?? members.first { ProcessStat.read($0)?.session == $0 }
        // The pidfd first: what is compared afterwards is then of the process that it holds.
        guard let root, let process = try? Pidfd(opening: root), let stat = ProcessStat.read(root),
            pid == nil || stat.startTime == startTime
        else { return nil }
        return process
    }

    /// Kills it, and what it has left in its session and its cgroup.
    func end() {
        if let process = find() { kill(-process.pid, SIGKILL) }
        if let cgroup { try? Cgroup(opening: cgroup).kill() }
    }
}

/// A reload that is under way.
struct KeptReload: Codable {
    var machine: ReloadMachine
    var commands: [Command]
    /// The one that runs.
    var command: KeptCommand?
}
