// SPDX-License-Identifier: Apache-2.0

package import WatchdogConfiguration
package import WatchdogLinux
package import WatchdogPolicy

/// What the next watchdogd needs to find a command of an app (not its program).
package struct KeptCommand: Codable, Equatable {
    /// Nil if it has not been started yet.
    package var pid: Int32?
    package var startTime: UInt64?
    /// A cgroup of its own; nil if it has none.
    package var cgroup: String?

    private enum CodingKeys: String, CodingKey { case pid, startTime, cgroup }

    /// The process, if it is still the one that was started.
    package func find() -> Pidfd? {
        let members = pid == nil ? cgroup.flatMap { try? Cgroup(opening: $0) }?.processes() ?? [] : []
        let root = pid ?? members.first { ProcessStat.read($0)?.session == $0 }
        // Open the pidfd before comparing, so that the comparison is about the process it holds.
        guard let root, let process = try? Pidfd(opening: root), let stat = ProcessStat.read(root),
            pid == nil || stat.startTime == startTime
        else { return nil }
        return process
    }

    /// Kills the command and what remains of its session and cgroup.
    package func end() {
        if let process = find() {
            CommandSession(process: process, startTime: ProcessStat.read(process.pid)?.startTime).kill()
        }
        if let cgroup { try? Cgroup(opening: cgroup).kill() }
    }
}

/// A running reload.
package struct KeptReload: Codable {
    package var machine: ReloadMachine
    package var commands: [Command]
    /// The command that is running.
    package var command: KeptCommand?

    package init(machine: ReloadMachine, commands: [Command], command: KeptCommand? = nil) {
        self.machine = machine
        self.commands = commands
        self.command = command
    }

    private enum CodingKeys: String, CodingKey { case machine, commands, command }
}
