// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// A chain of waits in words; the first wait is the main thread's.
package struct WaitText {
    /// The maximum length in the verdict, so that it fits into 160 columns; a longer text appears only in
    /// ``lines(threadIndex:)``.
    static let longestSubject = 100

    private let waits: [WaitDetails]

    package init(_ waits: [WaitDetails]) {
        self.waits = waits
    }

    /// The text that replaces `fd 7` in the verdict; nil if nothing more is known.
    var subject: String? {
        guard !parts.isEmpty else { return nil }
        let length = parts.indices.reversed().first { sentence($0 + 1).count <= Self.longestSubject }
        if let length { return sentence(length + 1) }
        let whole = sentence(1)
        return (PolledFiles.abridge(whole, to: Self.longestSubject) ?? whole).singleLine(limit: Self.longestSubject)
    }

    /// The chain as one sentence.
    package var whole: String? { parts.isEmpty ? nil : sentence(parts.count) }

    /// The wait of the main thread, the activity of its holder, and so on; empty if the first one is unknown.
    ///
    /// The chain ends at a stopped or frozen thread, because its own wait is irrelevant.
    private var parts: [String] {
        guard let first else { return [] }
        var parts = [first]
        for (wait, former) in zip(waits.dropFirst(), waits) {
            guard former.holder?.halt == nil else { break }
            parts.append("which \(predicate(wait))")
        }
        return parts
    }

    private func sentence(_ length: Int) -> String { parts.prefix(length).joined(separator: ", ") + deadlock }

    /// One line per wait and one for a deadlock; empty if the verdict contains all of it.
    ///
    /// - Parameter threadIndex: the index under which the report lists a thread.
    package func lines(threadIndex: (Int) -> Int?) -> [String] {
        guard let whole, let main = waits.first, main.holder != nil || whole.count > Self.longestSubject else {
            return []
        }
        var lines = waits.map { wait in
            let call = Self.callName(wait).map { "in \($0)" } ?? "not in a system call"
            let subject = noun(wait, isPlain: true).map { ": \($0)" } ?? ""
            let holder = wait.holder?.thread.flatMap { index($0, in: wait.holder?.process, threadIndex) } ?? ""
            let own = index(wait.thread, in: wait.process, threadIndex) ?? ""
            return "Waits: \(title(wait))\(own) \(call)\(subject)\(holder)"
        }
        let circle = waits.filter(\.isDeadlocked)
        if let start = circle.first {
            let predicates = circle.map { predicate($0, isPlain: true) }.joined(separator: ", which ")
            lines.append("Waits: deadlock: \(title(start)) \(predicates)")
        }
        return lines
    }

    private var deadlock: String { waits.contains(where: \.isDeadlocked) ? ": deadlock" : "" }
    private var first: String? { waits.first.flatMap { noun($0) } }

    private func index(_ thread: Int, in process: Int?, _ threadIndex: (Int) -> Int?) -> String? {
        guard process == waits.first?.process else { return nil }
        return threadIndex(thread).map { " (Thread \($0))" }
    }

    private func title(_ wait: WaitDetails) -> String {
        wait.process == waits.first?.process
            ? "thread \(wait.thread) \"\(wait.name)\"" : "pid \(wait.process) \"\(wait.name)\""
    }

    private func predicate(_ wait: WaitDetails, isPlain: Bool = false) -> String {
        let noun = noun(wait, isPlain: isPlain)
        if wait.holder?.relation == .holds, let noun {
            return "waits for \("aeiou".contains(noun.first ?? " ") ? "an" : "a") \(noun)"
        }
        guard let call = Self.callName(wait) else {
            return wait.syscall == "running" ? "runs" : "is not in a system call"
        }
        return "is in \(call)" + (noun.map { " (\($0))" } ?? "")
    }

    /// - Parameter isPlain: whether to call the main thread by its number instead of "this thread".
    private func noun(_ wait: WaitDetails, isPlain: Bool = false) -> String? {
        guard let subject = wait.subject else { return nil }
        guard let holder = wait.holder else { return subject }
        let name = "\"\(holder.name)\""
        let state = holder.state.flatMap { Self.states[$0] }.map { ", \($0)" } ?? ""
        let isOwnProcess = holder.process == waits.first?.process
        let thread =
            holder.thread.map { thread in
                !isPlain && isOwnProcess && thread == waits.first?.thread ? "this thread" : "thread \(thread) \(name)"
            } ?? "pid \(holder.process) \(name)"
        let stopped = holder.halt.map { ", which is \($0)" } ?? ""
        switch holder.relation {
        case .holds:
            let owner = isOwnProcess ? thread : "pid \(holder.process) \(name)"
            return "\(subject) held by \(owner)\(stopped)"
        case .locks:
            let way = wait.isForLease ? "leased" : "locked"
            if !isPlain, isOwnProcess { return "\(subject), \(way) by this process" }
            let thread = thread + stopped
            return "\(subject), \(way) by \(holder.state == nil ? "pid \(holder.process), which is gone" : thread)"
        case .lastUsed:
            // A message is missing of its sender, and room of its reader.
            let use = subject.hasPrefix("System V message") ? wait.isReceiving ? "written" : "read" : "changed"
            let user = !isPlain && isOwnProcess ? "this process itself" : "\(thread)\(stopped)"
            return "\(subject), last \(use) by \(user)"
        case .child where subject.contains("pidfd of pid "):
            return subject.contains(", which ") ? subject : "\(subject)\(state)"
        case .child: return "child \(holder.process) \(name)\(state)"
        case .anyChild where subject == "SIGCHLD" || subject.hasSuffix(": signalfd"):
            let call = subject == "SIGCHLD" ? "a signal" : subject
            return "\(call), such as SIGCHLD from \(holder.process) \(name)\(state)"
        case .anyChild: return "any child, such as \(holder.process) \(name)\(state)"
        case .ends: return "the end of \(thread)\(stopped)"
        }
    }

    /// Nil for a thread that is not in a system call.
    private static func callName(_ wait: WaitDetails) -> String? {
        SystemCall.blocking(wait.syscall).map { $0.name ?? "system call \($0.number)" }
    }

    private static let states = [
        "R": "runnable", "S": "sleeping", "D": "in uninterruptible sleep", "T": "stopped",
        "t": "stopped by a tracer", "Z": "ended and not yet reaped", "X": "ended", "I": "idle",
        "F": "frozen",
    ]
}

extension WaitDetails {
    /// Whether it waits for the end of a lease, which only calls that open a file do: fcntl(2), F_SETLEASE.
    package var isForLease: Bool {
        holder?.relation == .locks
            && ["open", "openat", "openat2", "creat", "truncate"].contains(SystemCall.blocking(syscall)?.name)
    }

    fileprivate var isReceiving: Bool { SystemCall.blocking(syscall)?.name == "msgrcv" }
}

extension WaitDetails.Holder {
    /// `stopped` if a signal has stopped it: `T` in proc_pid_stat(5).
    fileprivate var halt: String? { state == "T" ? "stopped" : state == "F" ? "frozen" : nil }
}
