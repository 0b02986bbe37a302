// SPDX-License-Identifier: Apache-2.0

import Glibc

/// An app and what it starts, where there are no cgroups: descendants, sessions and process groups in `/proc`.
///
/// Complete only if the supervisor is a ``Subreaper``: then orphans stay its descendants. One that left its session
/// before anybody looked is recognised by the marker in its environment.
///
/// Isolation: belongs to one thread.
public final class ProcessTree {
    private let root: Int32
    private let marker: [UInt8]?
    /// Start times of processes seen so far, by which their ids stay known when their parents have died.
    private var known: [Int32: UInt64]
    /// False once the root's id may have come to lead somebody else's session.
    private var leadsOwnSession = true

    /// Begins with an app's first process.
    ///
    /// - Parameters:
    ///   - root: The process, which leads its session or process group.
    ///   - startTime: Its start time.
    ///   - marker: An environment entry that no other app has, such as `INVOCATION_ID=…`; nil for none.
    public init(root: Int32, startTime: UInt64, marker: String? = nil) {
        self.root = root
        self.marker = marker.map { Array($0.utf8) }
        known = [root: startTime]
    }

    /// The processes of the app that have not ended; reads the whole of `/proc`.
    public func processes() -> [Int32] { members().map(\.id) }

    /// Looks at the app's processes, so that those whose parents die later are still known.
    public func refresh() { _ = members() }

    /// Sends a signal to all of them; those that are gone do not matter.
    func send(_ signal: Int32) {
        for member in members() {
            // The pidfd first, then the look: the id cannot be reused in between unnoticed.
            guard let process = try? Pidfd(opening: member.id),
                ProcessStat.read(member.id)?.startTime == member.startTime
            else { continue }
            try? process.send(signal)
        }
    }

    func members() -> [ProcessStat] {
        let all = Procfs.processes().compactMap { ProcessStat.read($0) }
        // The kernel does not reuse an id while a session or group has it. When the last member is gone it may.
        if known.isEmpty || all.contains(where: { $0.id == root && known[root] != $0.startTime }) {
            leadsOwnSession = false
        }
        let session = leadsOwnSession ? root : nil
        let members = Self.members(of: all, session: session, known: known, orphansOf: getpid()) { [marker] orphan in
            marker.map { Self.environment(of: orphan.id, contains: $0) } ?? false
        }
        known = Dictionary(members.map { ($0.id, $0.startTime) }, uniquingKeysWith: { $1 })
        return members.filter { $0.state != .zombie && $0.state != .dead }
    }

    /// What is known, in the session or group, or marked; and all descendants of that.
    static func members(
        of all: [ProcessStat],
        session: Int32?,
        known: [Int32: UInt64],
        orphansOf supervisor: Int32,
        isMarked: (ProcessStat) -> Bool
    ) -> [ProcessStat] {
        var found: Set<Int32> = []
        for process in all where process.id != supervisor {
            let isKnown = known[process.id] == process.startTime
            let isRelated = session == process.session || session == process.group
            if isKnown || isRelated || (process.parent == supervisor && isMarked(process)) { found.insert(process.id) }
        }
        let children = Dictionary(grouping: all, by: \.parent)
        var pending = Array(found)
        while let next = pending.popLast() {
            for child in children[next] ?? [] where child.id != supervisor && found.insert(child.id).inserted {
                pending.append(child.id)
            }
        }
        return all.filter { found.contains($0.id) }
    }

    private static func environment(of pid: Int32, contains entry: [UInt8]) -> Bool {
        let bytes = Procfs.read("/proc/\(pid)/environ", limit: 2 << 20) ?? []
        return bytes.split(separator: 0).contains { $0.elementsEqual(entry) }
    }
}
