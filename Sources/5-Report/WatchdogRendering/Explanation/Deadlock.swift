// SPDX-License-Identifier: Apache-2.0

import WatchdogReport
import WatchdogVerdict

/// Threads that wait for each other in a circle, with where each of them waits.
struct Deadlock {
    private struct Party {
        /// `the main thread`, `thread 1 (indexer)`.
        let title: String
        /// The innermost call of the app's code; nil when there is no stack.
        let call: CallSite?
        let isMain: Bool

        var words: String { title + (call.map { " in \($0.place)" } ?? "") }
    }

    private let parties: [Party]
    private let isOfQueues: Bool

    /// Nil unless the report proves one: locks that were read twice, or libdispatch queues that nobody else serves.
    init?(_ report: Report) {
        guard let linux = report.body.linux, linux.verdict.kind == .blocked else { return nil }
        let circle = (linux.waits ?? []).filter(\.isDeadlocked)
        let queues = linux.findings?.first { $0.kind == .dispatchDeadlock }
        let stacks = report.stacks
        let main = report.faultingStack?.id
        var threads = circle.filter { $0.process == report.body.pid }.map { (id: $0.thread, name: $0.name) }
        if circle.isEmpty {
            guard let main, let other = queues?.thread else { return nil }
            threads = [main, other].map { id in (id, stacks.first { $0.id == id }?.name ?? "") }
        }
        parties = threads.map { id, name in
            let stack = stacks.first { $0.id == id }
            let isMain = id == main
            let quoted = name.isEmpty ? "" : " (\(name))"
            return Party(
                title: isMain
                    ? "the main thread" : stack.map { "thread \($0.index)\(quoted)" } ?? "thread \(id)\(quoted)",
                call: stack?.decisive.first, isMain: isMain)
        }
        isOfQueues = circle.isEmpty
        guard !parties.isEmpty else { return nil }
    }

    /// The cause in a few words: `deadlock with Index.update()`, the innermost call of the app's code on the other thread.
    var cause: String {
        let other = parties.first { !$0.isMain }?.call?.name
        return Verdict.deadlock + (isOfQueues ? " of queues" : "") + (other.map { " with \($0)" } ?? "")
    }

    /// Why the app is at fault, in one sentence without a trailing period.
    var reason: String {
        parties.count > 1
            ? "its threads wait for each other in a circle, so none of them can continue"
            : "its thread waits for a lock that it holds itself"
    }

    /// What to do.
    var advice: String {
        guard let first = parties.first, parties.count > 1 else {
            return
                "Deadlock: \(parties.first?.words ?? "a thread") waits for a lock that it holds itself. Let go of it before the "
                + "call, or split the function into one that takes the lock and one that expects it to be taken."
        }
        let more = parties.count > 2 ? " and \(parties.count - 2) more" : ""
        let what = isOfQueues ? "queues" : "locks"
        let main = parties.contains(where: \.isMain) ? "" : ", and the main thread for them"
        let remedy =
            isOfQueues
            ? "Never call sync from a block of another queue that waits back"
            : "Take locks in the same order everywhere, or use one lock for both, and call nothing unknown while one is held"
        return
            "Deadlock: \(first.words) and \(parties[1].words)\(more) wait for each other's \(what)\(main). \(remedy)."
    }
}
