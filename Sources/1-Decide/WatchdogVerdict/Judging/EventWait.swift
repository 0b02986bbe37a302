// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// A wait that is not a cause by itself: for a child, a signal, or events from other processes.
///
/// Wrappers, master processes of servers and the first processes of containers wait in this way, whichever process
/// below them hangs.
struct EventWait {
    enum Reason {
        case child
        case signals
        /// For output of a child, or for its end of a pipe or socket pair to close.
        case output
        /// For a child to read what it was sent.
        case drain
        case loop
        /// Repeated timed sleeps, between which it checks its children.
        case pauses
        /// For another thread of the process.
        case threads
        /// The same, in a process that has no other thread.
        case nobody
        /// For a lock that another process of the app has, which nothing names.
        case lock
    }

    let reason: Reason
    /// The awaited processes; empty if unknown.
    let processes: [Int]

    /// The calls that wait for a child's exit.
    private static let ends: Set<String> = ["wait4", "waitid"]
    /// The calls that wait for a child's execve(2).
    static let starts: Set<String> = ["vfork", "clone", "clone3"]
    /// The calls that wait for a child.
    static let children = ends.union(starts)
    private static let signals: Set<String> = ["rt_sigsuspend", "rt_sigtimedwait", "pause"]
    private static let reads: Set<String> = ["read", "readv", "recvfrom", "recvmsg"]
    private static let writes: Set<String> = ["write", "writev", "sendto", "sendmsg"]

    /// - Parameters:
    ///   - call: the system call in which the thread is blocked.
    ///   - wait: the details of the wait, if known.
    ///   - isLoop: whether the stack shows an event loop's own wait.
    ///   - isForProcesses: whether the stack shows a wait that only another process could end.
    ///   - isForThreads: whether the stack shows a wait that any other thread of the process could end.
    ///   - hasReturned: whether the thread has left the wait and entered it again.
    ///   - isForChild: whether the stack shows a wait for a child, whatever the call.
    ///   - isAlone: whether the process has no other thread, which could end the wait.
    ///   - descendants: the processes below the one that waits.
    /// - Returns: nil if the wait may be the app's own.
    init?(
        _ call: String, _ wait: WaitDetails?, isLoop: Bool, isForChild: Bool, isForProcesses: Bool = false,
        isForThreads: Bool = false, hasReturned: Bool = false, isAlone: Bool, descendants: Set<Int>
    ) {
        let ends = OtherEnds(wait?.subject ?? "")
        let below = ends.processes.filter(descendants.contains)
        if isForChild || Self.children.contains(call) || wait?.holder?.relation == .child {
            let child = wait?.holder.flatMap { $0.relation == .child ? $0.process : nil }
            (reason, processes) = (.child, child.map { [$0] } ?? [])
        } else if Self.signals.contains(call) {
            (reason, processes) = (.signals, [])
        } else if Self.reads.contains(call), wait?.subject?.hasSuffix(": signalfd") == true {
            (reason, processes) = (.signals, [])
        } else if Self.reads.contains(call), !below.isEmpty {
            (reason, processes) = (.output, ends.areAll ? below : [])
        } else if Self.writes.contains(call), below.count == ends.processes.count, !below.isEmpty {
            (reason, processes) = (.drain, ends.areAll ? below : [])
        } else if isLoop {
            (reason, processes) = (.loop, [])
        } else if EventLoop.polling.contains(call), let files = PolledFiles(wait?.subject ?? ""), files.areOwn {
            // Not if the process has the other end, too: forked children inherit the pipe by which a process wakes
            // itself.
            let isOutput = !below.isEmpty && !ends.includeSelf
            guard isAlone || isOutput || files.tellOfProcesses else { return nil }
            (reason, processes) = (files.tellOfProcesses ? .signals : isOutput ? .output : .loop, [])
        } else if call.hasSuffix("nanosleep"), hasReturned {
            (reason, processes) = (.pauses, [])
        } else if isForProcesses {
            (reason, processes) = (.lock, [])
        } else if isForThreads, wait?.holder == nil {
            (reason, processes) = (isAlone ? .nobody : .threads, [])
        } else {
            return nil
        }
    }

    /// `waits for signals`.
    var words: String {
        switch reason {
        case .child: "waits for a child"
        case .signals: "waits for signals"
        case .output: "waits for a child's output"
        case .drain: "waits for a child to read from it"
        case .loop: "waits in its loop"
        case .pauses: "sleeps again and again"
        case .threads: "waits for another of its threads"
        case .nobody: "waits for a lock or a wake-up"
        case .lock: "waits for a lock that its processes share"
        }
    }
}

/// The processes at the other end of a pipe or Unix socket: `pipe, other end in pid 912 "sleep" and others`.
package struct OtherEnds {
    let processes: [Int]
    /// Whether the text names all of them.
    let areAll: Bool
    /// Whether the process itself also has the other end.
    let includeSelf: Bool

    init(_ subject: String) {
        guard let start = subject.firstRange(of: ", other end in ") else {
            (processes, areAll, includeSelf) = ([], true, false)
            return
        }
        var found: [Int] = []
        var rest = subject[start.upperBound...]
        while let next = rest.firstRange(of: "pid ") {
            rest = rest[next.upperBound...]
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            if let id = Int(digits), rest.dropFirst(digits.count).hasPrefix(" \"") { found.append(id) }
        }
        processes = found
        // `, nothing to read` may follow.
        areAll = !subject[start.upperBound...].contains(" and others")
        includeSelf = subject[start.upperBound...].hasPrefix("this process")
    }

    /// The first of them with its name; nil without one.
    package static func first(of file: String) -> (process: Int, name: String)? {
        guard let match = file.firstMatch(of: #/other end in pid (\d{1,10}) "([^"]{1,64})"/#),
            let process = Int(match.output.1)
        else { return nil }
        return (process, String(match.output.2))
    }
}

/// The files of a `poll`, `select` or `epoll_wait`, parsed from the subject of a wait.
package struct PolledFiles {
    /// `signalfd`, `Unix socket, other end in pid 912 "sudo"`.
    private let files: [String]

    /// Files whose events the process, its children, the kernel or a new client causes.
    private static let own = ["pipe", "signalfd", "eventfd", "timerfd", "inotify", "pidfd", "terminal ", "/dev/ptmx"]

    /// - Returns: nil if not all of the files are described.
    init?(_ subject: String) {
        if let list = subject.firstRange(of: " fds: ") ?? subject.firstRange(of: " fd: ") {
            guard let files = Self.files(in: subject[list.upperBound...]), !files.isEmpty else { return nil }
            self.files = files
        } else if subject.hasPrefix("fd "), let start = subject.firstRange(of: ": ") {
            files = [String(subject[start.upperBound...])]
        } else {
            return nil
        }
    }

    /// The files of a list such as `5 (eventfd), -1, 6 (pipe)`; nil if one of them is not described.
    private static func files(in list: Substring) -> [String]? {
        var files: [String] = []
        for (number, file) in entries(in: list) ?? [(0, nil)] {
            // poll(2) ignores negative numbers.
            guard file != nil || number.map({ $0 < 0 }) ?? false else { return nil }
            if let file { files.append(file) }
        }
        return files
    }

    /// The numbers and files of such a list, with nil as the number of `…`; nil for other text.
    private static func entries(in list: Substring) -> [(number: Int?, file: String?)]? {
        var entries: [(number: Int?, file: String?)] = []
        var rest = list
        while !rest.isEmpty {
            let word = rest.prefix { !" ,".contains($0) }
            guard let number = Int(word) else {
                return word == "…" && word.endIndex == rest.endIndex ? entries + [(nil, nil)] : nil
            }
            rest = rest[word.endIndex...]
            var file: String?
            if rest.hasPrefix(" (") {
                let end = rest.firstRange(of: "), ")?.lowerBound ?? rest.index(before: rest.endIndex)
                guard rest[end] == ")" else { return nil }
                file = String(rest[..<end].dropFirst(2))
                rest = rest[end...].dropFirst()
            }
            entries.append((number, file))
            guard rest.isEmpty || rest.hasPrefix(", ") else { return nil }
            rest = rest.dropFirst(2)
        }
        return entries
    }

    /// The only connection to another party among several files, all of which are described; nil if there is none.
    package static func onlyConnection(in subject: String) -> String? {
        guard let files = Self(subject)?.files, files.count > 1 else { return nil }
        let connections = files.filter { $0.contains(" → ") }
        let isOnly = files.allSatisfy { file in
            file.contains(" → ") || own.contains(where: file.hasPrefix) || file.contains(", other end in this process")
        }
        return connections.count == 1 && isOnly ? connections[0] : nil
    }

    /// The described files of a subject, with their numbers.
    static func described(in subject: String) -> [(number: Int, file: String)] {
        guard let list = subject.firstRange(of: " fds: ") ?? subject.firstRange(of: " fd: ") else { return [] }
        return (entries(in: subject[list.upperBound...]) ?? []).compactMap { entry in
            entry.number.flatMap { number in entry.file.map { (number, $0) } }
        }
    }

    /// Shortens a subject with several files, and keeps the most informative ones: connections and other ends.
    ///
    /// - Returns: nil if it has only one file, or none that fits.
    static func abridge(_ subject: String, to length: Int) -> String? {
        guard let list = subject.firstRange(of: " fds: "), let entries = entries(in: subject[list.upperBound...]),
            entries.count > 1
        else { return nil }
        let head = String(subject[..<list.upperBound])
        var kept: [String] = []
        for case (let number?, let file?) in entries where file.contains(" → ") || file.contains(", other end in pid ")
        {
            let next = kept + ["\(number) (\(file))"]
            if head.count + next.joined(separator: ", ").count + 3 > length { break }
            kept = next
        }
        return kept.isEmpty ? nil : head + (kept + ["…"]).joined(separator: ", ")
    }

    /// Whether the app waits only for itself: none of the files is a connection to another party.
    var areOwn: Bool {
        files.allSatisfy { file in
            if Self.own.contains(where: file.hasPrefix) { return true }
            guard file.hasPrefix("Unix socket") || file.hasPrefix("TCP ") else { return false }
            return file.contains(", other end in ") || file.contains(" to accept")
        }
    }

    /// Whether one of the files reports signals or the end of a process.
    var tellOfProcesses: Bool { files.contains { $0.hasPrefix("signalfd") || $0.hasPrefix("pidfd") } }
}
