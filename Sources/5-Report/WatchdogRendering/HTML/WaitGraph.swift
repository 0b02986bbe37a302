// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogReport
import WatchdogVerdict

/// Who waits for whom: threads and what they wait for, from the report's chain of waits.
struct WaitGraph: Equatable {
    /// A thread, a process, or what is waited for.
    struct Node: Equatable {
        enum Kind: Equatable {
            case thread
            case resource
        }

        let kind: Kind
        /// Shown in bold.
        let title: String
        /// What it does, in a few words.
        var details: [String]
        /// Whether it is part of a deadlock.
        var isDeadlocked: Bool
        /// The index of the thread in the report.
        var thread: Int?
    }

    struct Edge: Equatable {
        let from: Int
        let to: Int
        let label: String
        let isDeadlocked: Bool
        /// Whether it is inferred from names on the stacks, not read from the lock.
        var isLikely = false
    }

    private struct Key: Hashable {
        let process: Int
        let thread: Int?
    }

    private(set) var nodes: [Node] = []
    private(set) var edges: [Edge] = []
    /// The graph in sentences.
    private(set) var sentences: [String] = []
    private var known: [Key: Int] = [:]
    private let body: ReportBody

    /// How many of a report's waits are drawn; the supervisor follows fewer.
    private static let limit = 16
    /// How many other processes are added.
    private static let otherLimit = 6

    /// Nil when the report knows of no wait.
    init?(_ body: ReportBody) {
        self.body = body
        guard let linux = body.linux, let waits = linux.waits?.prefix(Self.limit), !waits.isEmpty else { return nil }
        for wait in waits { append(wait) }
        if waits.allSatisfy({ $0.holder == nil }) { appendLikelyHolder(linux) }
        let others = appendOthers(linux.processes ?? [])
        guard !edges.isEmpty else { return nil }
        let lines = WaitText(Array(waits)).lines { id in linux.threads.firstIndex { $0.id == id } }
        let texts =
            lines.isEmpty
            ? edges.map { "\(nodes[$0.from].title) \($0.label) \(nodes[$0.to].title)" }
            : lines.map { $0.hasPrefix("Waits: ") ? String($0.dropFirst("Waits: ".count)) : $0 }
        sentences = texts.map(\.capitalizingFirst) + others
    }

    var isDeadlock: Bool { edges.contains(where: \.isDeadlocked) }

    private mutating func append(_ wait: WaitDetails) {
        let waiter = node(wait.process, wait.thread, wait.name)
        let call = SystemCall.blocking(wait.syscall).map { $0.name ?? "system call \($0.number)" }
        nodes[waiter].details.append(
            call.map { "in \($0)" } ?? (wait.syscall == "running" ? "runs" : "not in a system call"))
        nodes[waiter].isDeadlocked = nodes[waiter].isDeadlocked || wait.isDeadlocked
        var from = waiter
        var label = "waits for"
        let relation = wait.holder?.relation
        // A child process is itself what is waited for.
        if [nil, .holds, .locks, .lastUsed].contains(relation), let subject = wait.subject {
            nodes.append(
                Node(
                    kind: .resource, title: subject, details: Self.address(of: wait).map { ["at \($0)"] } ?? [],
                    isDeadlocked: wait.isDeadlocked))
            edges.append(Edge(from: from, to: nodes.count - 1, label: label, isDeadlocked: wait.isDeadlocked))
            from = nodes.count - 1
            label =
                switch relation {
                case .locks: wait.isForLease ? "leased by" : "locked by"
                case .lastUsed: "last used by"
                default: "held by"
                }
        }
        guard let holder = wait.holder else { return }
        switch holder.relation {
        case .holds, .locks, .lastUsed: break
        case .child: label = "waits for its child"
        case .anyChild: label = "waits for any child, such as"
        case .ends: label = "waits for the end of"
        }
        let target = node(holder.process, holder.thread, holder.name)
        if let state = holder.state, target != from, nodes[target].details.count < 2 {
            nodes[target].details.append(Self.states[state] ?? "state \(state)")
        }
        nodes[target].isDeadlocked = nodes[target].isDeadlocked || wait.isDeadlocked
        edges.append(Edge(from: from, to: target, label: label, isDeadlocked: wait.isDeadlocked))
    }

    /// The address of a lock in memory, which tells two of a kind apart: the first argument of futex(2).
    private static func address(of wait: WaitDetails) -> String? {
        guard let call = SystemCall.blocking(wait.syscall), call.name == "futex" else { return nil }
        return call.arguments.first.map { $0.hexadecimal() }
    }

    /// Adds what other processes wait for, if the chain mentions them, or if they wait for one that it mentions.
    ///
    /// - Returns: the additions in sentences.
    private mutating func appendOthers(_ processes: [ProcessDetails]) -> [String] {
        let mentioned = Set(known.keys.map(\.process))
        let waiting = Set(edges.map(\.from))
        var sentences: [String] = []
        for process in processes where sentences.count < Self.otherLimit {
            guard let wait = process.waits?.first, let words = process.waitText,
                mentioned.contains(process.pid) || wait.holder.map({ mentioned.contains($0.process) }) == true,
                known[key(wait.process, wait.thread)].map(waiting.contains) != true
            else { continue }
            append(wait)
            sentences.append("Process \(process.pid) \"\(process.name)\" waits: \(words)")
        }
        return sentences
    }

    /// Adds a holder when no lock names one, but the names on the stacks point to one thread that makes the main thread
    /// wait.
    private mutating func appendLikelyHolder(_ linux: LinuxDetails) {
        let finding = linux.findings?.first { [.dispatchSync, .pythonGIL].contains($0.kind) && $0.thread != nil }
        guard let finding, let id = finding.thread, id != linux.waits?.first?.thread, !nodes.isEmpty else { return }
        let name = body.threads.first { $0.id == id }?.name ?? ""
        let isKnown = nodes.count > 1
        let target = node(body.pid, id, name)
        let what = finding.kind == .pythonGIL ? "has Python's lock, by its stack" : "runs on a queue, by its stack"
        nodes[target].details.append(what)
        edges.append(
            Edge(
                from: isKnown ? 1 : 0, to: target, label: isKnown ? "likely held by" : "likely waits for",
                isDeadlocked: false, isLikely: true))
    }

    private mutating func node(_ process: Int, _ thread: Int?, _ name: String) -> Int {
        let key = key(process, thread)
        if let index = known[key] { return index }
        let index = thread.flatMap { id in process == body.pid ? body.threads.firstIndex { $0.id == id } : nil }
        let quoted = name.isEmpty ? "" : " \"\(name)\""
        let title: String
        var details: [String] = []
        if let index {
            title = "Thread \(index)\(quoted)"
            if let thread { details.append("tid \(thread)") }
        } else {
            title =
                process == body.pid
                ? thread.map { "Thread of tid \($0)\(quoted)" } ?? "This process\(quoted)"
                : "Process \(process)\(quoted)"
            if process != body.pid, let thread, thread != process { details.append("its thread \(thread)") }
        }
        nodes.append(Node(kind: .thread, title: title, details: details, isDeadlocked: false, thread: index))
        known[key] = nodes.count - 1
        return nodes.count - 1
    }

    /// Another process is one node with its first thread.
    private func key(_ process: Int, _ thread: Int?) -> Key {
        Key(process: process, thread: thread ?? (process == body.pid ? nil : process))
    }

    private static let states = [
        "R": "runnable", "S": "sleeping", "D": "in uninterruptible sleep", "T": "stopped", "t": "stopped by a tracer",
        "Z": "ended, not yet reaped", "X": "ended, gone", "I": "idle",
    ]

    static func == (left: WaitGraph, right: WaitGraph) -> Bool {
        left.nodes == right.nodes && left.edges == right.edges && left.sentences == right.sentences
    }
}
