// SPDX-License-Identifier: Apache-2.0

/// The processes of an app, for a thread other than the loop's.
public enum TreeMembers: Sendable {
    /// Whatever is in the cgroup when it is read.
    case cgroup(Cgroup)
    /// Processes that were found before; a start time tells each from a later one with the same ID.
    case listed([ProcessStat])

    /// One process of the app.
    public struct Member: Sendable {
        /// The process.
        public let process: Pidfd
        /// What the kernel says about it.
        public let stat: ProcessStat
    }

    /// Opens the processes.
    ///
    /// - Parameters:
    ///   - main: a process to leave out.
    ///   - preferred: processes that come first; then come those with lower IDs, which are usually older.
    ///   - limit: how many to open at most.
    /// - Returns: the processes, and how many there are beyond `limit`.
    public func open(except main: Int32, preferring preferred: [Int32], limit: Int) -> (members: [Member], rest: Int) {
        let found = processes.filter { $0 != main }
        let known = Set(found)
        var ids = preferred.filter { known.contains($0) }
        ids = (ids + found.sorted()).reduce(into: []) { if !$0.contains($1) && $0.count < limit { $0.append($1) } }
        // Open first, then look again: an ID that was reused in between is no longer one of the app's.
        let opened = ids.compactMap { try? Pidfd(opening: $0) }
        let isMember = membership(opened.map(\.pid))
        let members: [Member] = opened.compactMap { process in
            guard let stat = ProcessStat.read(process.pid), isMember(stat), stat.state != .zombie, stat.state != .dead
            else { return nil }
            return Member(process: process, stat: stat)
        }
        return (members, found.count - ids.count)
    }

    /// The IDs of the processes at this moment.
    public var processes: [Int32] {
        switch self {
        case .cgroup(let cgroup): cgroup.processes()
        case .listed(let processes): processes.map(\.id)
        }
    }

    private func membership(_ opened: [Int32]) -> (ProcessStat) -> Bool {
        switch self {
        case .cgroup(let cgroup):
            let present = Set(opened.isEmpty ? [] : cgroup.processes())
            return { present.contains($0.id) }
        case .listed(let processes):
            let known = Dictionary(processes.map { ($0.id, $0.startTime) }, uniquingKeysWith: { $1 })
            return { known[$0.id] == $0.startTime }
        }
    }
}
