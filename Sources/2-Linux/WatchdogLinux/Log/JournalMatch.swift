// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// Selects the journal entries that a launch of a program produced.
///
/// Relies on what journald itself recorded about the sender, because anyone can use any identifier.
public struct JournalMatch: Hashable, Sendable {
    /// The cgroup of the program, as in `/proc/PID/cgroup`: `/system.slice/watchdogd.service/app`.
    public var cgroup: String?
    /// The processes of the program.
    public var processes: [Int32]
    /// When the program was launched.
    ///
    /// Older entries may belong to another program, because process IDs and cgroup names are reused.
    public var since: Instant

    /// Creates a match for entries from a cgroup or from any of several processes.
    public init(cgroup: String?, processes: [Int32], since: Instant) {
        self.cgroup = cgroup
        self.processes = processes
        self.since = since
    }

    /// The fields of which an entry must match one.
    var fields: [String] {
        // Everything without a separate cgroup is in the root.
        let own = cgroup.flatMap { $0 == "/" ? nil : "_SYSTEMD_CGROUP=\($0)" }
        return [own].compactMap(\.self) + processes.map { "_PID=\($0)" }
    }
}
