// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
public import WatchdogBase

/// An app and everything it starts, without cgroups: descendants, sessions and process groups in `/proc`.
///
/// Complete only if the supervisor is a ``Subreaper``: orphans then stay its descendants. An orphan that left its
/// session before it was first seen is recognized by the marker in its environment.
///
/// Isolation: belongs to one thread.
public final class ProcessTree {
    /// Ancestors that are followed; more deeply nested processes of the app are found only by session or group.
    private static let mostAncestors = 64
    private static let mostStrangers = 1_024

    private let root: Int32
    private let marker: ByteString?
    private let copying: Copying?
    /// Start times of the processes seen so far, which identify them after their parents have died.
    private var known: [Int32: UInt64]
    /// Start times of processes that were found not to belong to the app, so that their messages cost little.
    private var strangers: [Int32: UInt64] = [:]
    /// False once the root's ID may have been reused for the leader of an unrelated session.
    private var leadsOwnSession = true

    /// Starts with an app's first process.
    ///
    /// - Parameters:
    ///   - root: The process, which leads its session or process group.
    ///   - startTime: The start time of that process.
    ///   - marker: An environment entry that no other app has, such as `INVOCATION_ID=…`; nil for none.
    ///   - copying: reads environments; nil if the thread may wait forever for an orphan's memory.
    public init(root: Int32, startTime: UInt64, marker: String? = nil, by copying: Copying? = nil) {
        self.root = root
        self.marker = marker.map { ByteString(bytes: Array($0.utf8)) }
        self.copying = copying
        known = [root: startTime]
        Self.roots.withLock { $0[root, default: 0] += 1 }
    }

    deinit {
        Self.roots.withLock { roots in roots[root] = roots[root].flatMap { $0 > 1 ? $0 - 1 : nil } }
    }

    /// How many trees of this process have a root: each session of theirs belongs to one app.
    private static let roots = Mutex<[Int32: Int]>([:])
    /// False on a kernel without CONFIG_PROC_CHILDREN.
    private static let listsChildren = access("/proc/thread-self/children", R_OK) == 0

    /// The live processes of the app; asks the kernel for the session of every process.
    public func processes() -> [Int32] { members().map(\.id) }

    /// Records the app's current processes, so that they stay known if their parents die later.
    public func refresh() { _ = members() }

    /// Whether a process belongs to the app, judged by its ancestors; reads no other process.
    ///
    /// A process that was never a descendant does not become one, so that strangers are remembered with their
    /// ancestors: whoever sends many messages makes this read little.
    func contains(_ process: ProcessStat) -> Bool {
        var next = process
        var line: [ProcessStat] = []
        for _ in 0..<Self.mostAncestors {
            if known[next.id] == next.startTime || leadsOwnSession && [next.session, next.group].contains(root) {
                return true
            }
            guard strangers[next.id] != next.startTime else { return false }
            line.append(next)
            if next.parent == getpid() {
                let isMarked = hasMarker(next)
                if !isMarked { rememberStrangers(line) }
                return isMarked
            }
            guard next.parent > 0 else { break }
            // Gone: what it left behind has another parent by now.
            guard let parent = ProcessStat.read(next.parent) else { return false }
            next = parent
        }
        rememberStrangers(line)
        return false
    }

    private func rememberStrangers(_ processes: [ProcessStat]) {
        if strangers.count + processes.count > Self.mostStrangers { strangers = [:] }
        for process in processes { strangers[process.id] = process.startTime }
    }

    /// Sends a signal to all of them; failures for processes that are gone are ignored.
    func send(_ signal: Int32) {
        for member in members() {
            // Open the pidfd first, then compare the start time: reuse of the ID in between cannot go unnoticed.
            guard let process = try? Pidfd(opening: member.id),
                ProcessStat.read(member.id)?.startTime == member.startTime
            else { continue }
            try? process.send(signal)
        }
    }

    func members() -> [ProcessStat] {
        let all = candidates().compactMap { ProcessStat.read($0) }
        // The kernel does not reuse an ID while a session or group has it, but may do so when the last member is gone.
        if known.isEmpty || all.contains(where: { $0.id == root && known[root] != $0.startTime }) {
            leadsOwnSession = false
        }
        let session = leadsOwnSession ? root : nil
        let members = Self.members(of: all, session: session, known: known, orphansOf: getpid()) { hasMarker($0) }
        known = Dictionary(members.map { ($0.id, $0.startTime) }, uniquingKeysWith: { $1 })
        return members.filter { $0.state != .zombie && $0.state != .dead }
    }

    /// The processes among which the members are, in ascending order.
    ///
    /// Asking for a session takes a fraction of a microsecond, reading `stat` some ten: where apps end together, each would
    /// otherwise read all processes of the host, and the environments of all other apps.
    private func candidates() -> [Int32] {
        let all = Procfs.processes()
        guard Self.listsChildren else { return all }
        var found = Set(all.filter { getsid($0) == root || getpgid($0) == root })
        found.formUnion(known.keys)
        let roots = Self.roots.withLock(\.self)
        // An orphan cannot enter the session of another app.
        found.formUnion(Procfs.children(of: getpid()).filter { roots[getsid($0)] == nil })
        return Procfs.withDescendants(found).sorted()
    }

    /// Processes that are known, in the session or group, or marked, and all their descendants.
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

    private func hasMarker(_ process: ProcessStat) -> Bool {
        guard let marker else { return false }
        let environment =
            if let copying { copying.environment(of: process.id) } else { ProcessFacts.environment(process.id) }
        return environment?.entries.contains(marker) == true
    }
}

extension ProcessTree {
    /// Kills all processes of the tree until none is left.
    ///
    /// Blocks the thread. Zombies are left to their parents.
    ///
    /// - Returns: nil, or a process that survives SIGKILL until then.
    public func end(until limit: Instant) -> Int32? {
        let containment = Containment.processTree(self)
        while !containment.isEmpty {
            try? containment.kill()
            guard .now() < limit else { return containment.processes().first ?? 0 }
            usleep(1_000)
        }
        return nil
    }
}
