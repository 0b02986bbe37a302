// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// Which entries of the journal a launch of a program has left.
///
/// By what journald itself has found out about the sender: an identifier anybody can use.
public struct JournalMatch: Hashable, Sendable {
    /// The cgroup of the program, as in `/proc/PID/cgroup`: `/system.slice/watchdogd.service/app`.
    public var cgroup: String?
    /// Processes of the program.
    public var processes: [Int32]
    /// When it was launched: what is older is another's, as process ids and cgroups come again.
    public var since: Instant

    /// Creates a match for entries from a cgroup or from one of some processes.
    public init(cgroup: String?, processes: [Int32], since: Instant) {
        self.cgroup = cgroup
        self.processes = processes
        self.since = since
    }

    /// The fields of which an entry must have one.
    var fields: [String] {
        // Everything without a cgroup of its own is in the root.
        let own = cgroup.flatMap { $0 == "/" ? nil : "_SYSTEMD_CGROUP=\($0)" }
        return [own].compactMap(\.self) + processes.map { "_PID=\($0)" }
    }
}
