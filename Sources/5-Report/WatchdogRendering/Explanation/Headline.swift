// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogReport
import WatchdogVerdict

/// What happened, as a person would say it: `Main thread waits for an answer from 127.0.0.1:8080`.
enum Headline {
    /// Nil where the report knows no more than how the process ended, or was requested.
    static func text(of report: Report, fault party: Blame.Party?) -> String? {
        guard let linux = report.body.linux, linux.crash == nil else { return nil }
        guard let worker = report.worker else { return text(of: report, linux, party) }
        let subjects = ["Main thread ", "The main thread ", "Thread \(report.body.faultingThread) "]
        return text(of: report, linux, party).map { text in
            let subject = subjects.first { text.hasPrefix($0) }
            return subject.map { "\(worker.capitalizingFirst) \(text.dropFirst($0.count))" } ?? "In \(worker): \(text)"
        }
    }

    private static func text(of report: Report, _ linux: LinuxDetails, _ party: Blame.Party?) -> String? {
        if let others = deadlocked(report.body, linux), !others.isEmpty {
            return "Deadlock: the main thread and \(others) wait for each other"
        }
        let thread = report.body.faultingThread == 0 ? "Main thread" : "Thread \(report.body.faultingThread)"
        let deed = deed(report, linux, party)
        // What is connected to, or written, and which child it is, says more.
        let isVague =
            finding(linux).map { finding in
                [.connecting, .diskSync].contains(finding.kind)
                    || finding.kind == .childProcess && linux.waits?.first?.holder?.relation == .child
            } == true
        if let finding = finding(linux), !isVague || deed == nil || !linux.isWaitKnown {
            let clause = clause(of: finding, linux)
            guard clause.hasPrefix("The thread ") else { return clause }
            return thread + clause.dropFirst("The thread".count)
        }
        // A broken rule of the lifecycle, such as an open background task, says more than what the thread did meanwhile.
        guard linux.kind != .capture, linux.lifecycle?.cause == nil else { return nil }
        return deed.map { "\(thread) \($0)" }
    }

    /// A finding's first clause, with what else a reader needs at once.
    private static func clause(of finding: Finding, _ linux: LinuxDetails) -> String {
        let others = linux.findings ?? []
        let clause = String(finding.text.prefix { $0 != ";" })
        if finding.kind == .idleEventLoop {
            // What another thread does, or where the loop's wait leads, says more than where to look in general.
            let thread = others.first { $0.kind == .otherThread }?.clause
            let elsewhere = thread.map { String($0[..<($0.firstRange(of: ", while ")?.lowerBound ?? $0.endIndex)]) }
            // The trail to a worker begins with the probe.
            let trail = linux.server == nil ? linux.trail?.line : nil
            return (elsewhere ?? trail).map { "\(clause.prefix { $0 != ":" }); \($0)" } ?? clause
        }
        let isAlone = finding.kind != .noOtherThread && others.contains { $0.kind == .noOtherThread }
        return clause + (isAlone ? ", and the process has no other thread" : "")
    }

    /// The finding that says the most.
    private static func finding(_ linux: LinuxDetails) -> Finding? {
        let findings = linux.findings ?? []
        let process = findings.first { $0.kind == .otherProcess }
        // The verdict names a thread only if it does something.
        let other = findings.first { finding in
            finding.kind == .otherThread && linux.verdict.line.contains("; thread \(finding.thread ?? 0) \"")
        }
        return process ?? other ?? findings.first
    }

    /// Findings for which the main thread's own functions do not matter.
    private static let elsewhere = MissedAdvice.elsewhere.union([.javaLock, .javaDeadlock])

    /// A headline with the app's function that led there, where that is the thread's own deed and the words lack it.
    static func culprit(_ headline: String, of report: Report) -> String {
        guard let linux = report.body.linux, let own = report.decidingStack?.named.first,
            own.origin == .application, own.function != nil, !headline.contains(own.name),
            finding(linux).map({ elsewhere.contains($0.kind) }) != true
        else { return headline }
        switch linux.verdict.kind {
        case .blocked, .uninterruptible, .spinning, .busy, .partlyRunning: break
        default: return headline
        }
        return self.headline(headline, in: own.place.singleLine(limit: 80))
    }

    /// A headline with a place: after its verb if it is about a thread, or else at its end.
    private static func headline(_ headline: String, in place: String) -> String {
        guard ["Main thread ", "Thread ", "Worker "].contains(where: headline.hasPrefix) else {
            return "\(headline), in \(place)"
        }
        // What follows is about others.
        let ends = [" because ", ": the only other ", " holds, which ", " holds; ", ", and the process has no "]
        let end = ends.lazy.compactMap { headline.firstRange(of: $0) }.first
        guard let end else { return "\(headline) in \(place)" }
        let start =
            headline[end].hasPrefix(" holds")
            ? headline.index(end.lowerBound, offsetBy: " holds".count) : end.lowerBound
        return "\(headline[..<start]) in \(place)\(headline[start...])"
    }

    /// The other threads of a deadlock of the main thread, as in `thread 1 (indexer)`; nil without one.
    private static func deadlocked(_ body: ReportBody, _ linux: LinuxDetails) -> String? {
        guard body.threads.indices.contains(body.faultingThread) else { return nil }
        let circle = (linux.waits ?? []).filter { $0.isDeadlocked && $0.process == body.pid }
        let main = body.threads[body.faultingThread].id
        guard circle.contains(where: { $0.thread == main }) else { return nil }
        return circle.filter { $0.thread != main }.compactMap { wait in
            linux.threads.firstIndex { $0.id == wait.thread }.map { "thread \($0) (\(wait.name))" }
        }.joined(separator: ", ")
    }

    /// The calls in which functions of the kernel wait, where the system call could not be read.
    private static let calls = [
        "hrtimer_nanosleep": "nanosleep", "do_nanosleep": "nanosleep", "futex_wait_queue": "futex",
        "futex_wait_queue_me": "futex", "do_wait": "wait4", "pipe_read": "read", "anon_pipe_read": "read",
        "pipe_write": "write", "anon_pipe_write": "write", "do_sys_poll": "poll", "do_epoll_wait": "epoll_wait",
        "ep_poll": "epoll_wait", "inet_csk_accept": "accept", "sk_wait_data": "recvmsg",
        "locks_lock_inode_wait": "flock",
    ]

    private static func deed(_ report: Report, _ linux: LinuxDetails, _ party: Blame.Party?) -> String? {
        let own = report.faultingStack?.named.first { $0.origin == .application }?.name
        switch linux.verdict.kind {
        case .spinning:
            return "computes\(own.map { " in \($0.singleLine(limit: 60))" } ?? "") and does not return to its loop"
        case .busy: return "computes, and waits for a CPU in between"
        case .starved:
            switch party {
            case .app: return "gets no CPU: the app's other threads and processes have it"
            case .appAndMachine: return "computes, but others have the CPU"
            default: return "gets no CPU: others have it"
            }
        case .throttled: return "is held back by the CPU quota of its cgroup"
        case .memoryStalled: return "waits for memory that is read back from disk"
        case .partlyRunning: return "runs and waits by turns"
        case .exited: return "has ended, while other threads keep the process alive"
        case .stopped: return "is stopped by a signal"
        case .traced: return "is held by a tracer, such as a debugger"
        case .frozen: return "is frozen with its cgroup"
        case .blocked, .uninterruptible:
            if linux.isWaitingForMemoryMap { return "waits until the process's memory map may be changed" }
            if linux.isOnFrozenFileSystem { return "waits until somebody thaws a frozen file system" }
            let call =
                linux.mainThreadCall ?? report.faultingStack?.systemCall?.name
                ?? report.faultingStack?.details?.waitChannel.flatMap { calls[$0] }
            // Of the connection, the process has no descriptor anymore: sk_stream_wait_close() of net/core/stream.c, which
            // waits in wait_woken() today.
            if call == "close", let channel = report.faultingStack?.details?.waitChannel,
                ["sk_", "tcp_", "wait_woken"].contains(where: channel.hasPrefix)
            {
                return "waits until the other end of a connection has taken its data (SO_LINGER)"
            }
            var words = call.flatMap { WaitHeadline(call: $0, linux.waits?.first).words }
            if linux.waits?.first?.holder?.relation == .holds, let end = chainEnd(linux) {
                words = words.map { $0 + end }
            }
            if let joined = report.joinedThread, let call = joined.stack.systemCall?.name,
                let deed = WaitHeadline(call: call, joined.wait).words
            {
                words = "waits for the end of \(joined.title), which \(deed)"
            }
            return words ?? (linux.verdict.kind == .uninterruptible ? "waits for a disk or another device" : nil)
        default: return nil
        }
    }
}

extension Headline {
    /// What the thread does at the end of a chain of locks: `, which waits for data from a pipe`; nil if that is not known.
    private static func chainEnd(_ linux: LinuxDetails) -> String? {
        let chain = (linux.waits ?? []).dropFirst()
        guard let last = chain.last, !last.isDeadlocked, last.holder?.relation != .holds,
            let call = SystemCall.blocking(last.syscall)?.name, let deed = WaitHeadline(call: call, last).words
        else { return nil }
        return chain.count == 1
            ? ", which \(deed)" : "; at the end of the chain, thread \(last.thread) (\(last.name)) \(deed)"
    }
}

extension LinuxDetails {
    /// Whether the object of the main thread's call is known.
    fileprivate var isWaitKnown: Bool { waits?.first?.subject != nil }
}

extension Report {
    /// Who a report about a worker is about, in the middle of a sentence: `worker 12 of web`, `thread 3 (handler) of web`; nil
    /// for any other report.
    var worker: String? {
        guard let server = body.linux?.server else { return nil }
        let app = metadata.appName.singleLine(limit: 64)
        guard server.mainProcess == body.pid, body.threads.indices.contains(body.faultingThread) else {
            return "worker \(body.pid) of \(app)"
        }
        let name = body.threads[body.faultingThread].name.map { " (\($0.singleLine(limit: 32)))" } ?? ""
        return "thread \(body.faultingThread)\(name) of \(app)"
    }
}

/// What a thread in a system call waits for.
private struct WaitHeadline {
    let call: String
    /// The file, connection or lock; nil if unknown.
    let subject: String?
    /// All that is known of it.
    private let whole: String
    private let holder: WaitDetails.Holder?
    /// Whether the holder is the process that waits, or one of its threads.
    private let isOwnThread: Bool
    /// Whether the holder is the thread that waits.
    private var isItself = false

    init(call: String, _ wait: WaitDetails?) {
        // `fd 7: TCP 127.0.0.1:51234 → 127.0.0.1:8080, ESTABLISHED` becomes what comes behind the number.
        let words = wait?.subject.map { text in
            text.hasPrefix("fd ") ? text[(text.firstRange(of: ": ")?.upperBound ?? text.endIndex)...] : text[...]
        }
        self.init(
            call: call, whole: String(words ?? ""), holder: wait?.holder,
            isOwnThread: wait?.holder?.process == wait?.process)
        isItself = wait.map { $0.holder?.thread == $0.thread } ?? false
    }

    private init(call: String, whole: String, holder: WaitDetails.Holder?, isOwnThread: Bool = false) {
        self.call = call
        self.isOwnThread = isOwnThread
        self.whole = whole
        self.holder = holder
        subject = whole.isEmpty ? nil : String(whole.prefix { $0 != "," }).singleLine(limit: 80)
    }

    /// The other end of a connection: `127.0.0.1:8080`; nil for one of several.
    private var peer: String? {
        guard let subject, !subject.contains(" fds: ") else { return nil }
        return subject.firstRange(of: " → ").map { range in
            String(subject[range.upperBound...]) + (otherEnd.map { " (\($0.name))" } ?? "")
        }
    }

    /// The process at the other end of a pipe or a connection.
    private var otherEnd: (process: Int, name: String)? { OtherEnds.first(of: whole) }

    /// The file, connection or lock in the middle of a sentence; nil if unknown.
    private var noun: String? { subject.map { ["pipe", "Unix socket"].contains($0) ? "a \($0)" : $0 } }

    /// Where data comes from: `cat (pid 2) through a pipe`; nil if unknown.
    private var source: String? {
        noun.map { noun in otherEnd.map { "\($0.name) (pid \($0.process)) through \(noun)" } ?? noun }
    }

    /// The wait for what a file of the kernel's own announces; nil for other files.
    private var announcement: String? {
        switch subject {
        case "eventfd": "waits until another thread or process wakes it (eventfd)"
        case "timerfd": "waits for a timer (timerfd)"
        case "inotify": "waits for a change of files (inotify)"
        case "signalfd": "waits for a signal (signalfd)"
        default: nil
        }
    }

    /// The wait for a server that has yet to accept the connection; nil for other waits.
    private var acceptance: String? {
        guard whole.contains(", not accepted yet"), let noun else { return nil }
        return "waits until \(noun) accepts its connection"
    }

    /// The wait for an event of one file or of several.
    private var event: String {
        if let announcement { return announcement }
        guard let subject else { return "waits for events" }
        if subject.hasSuffix("no fd") { return "sleeps because its own code told it to" }
        // Other files of the process's own, such as one by which it wakes itself, do not matter.
        if let only = PolledFiles.onlyConnection(in: whole) {
            return Self(call: call, whole: only, holder: nil).event
        }
        if let count = subject.firstMatch(of: #/(?:^|epoll of |io_uring of )(\d{1,7}) fds?\b/#)?.output.1 {
            guard count == "1" else { return "waits for events of any of \(count) files" }
            let only = whole.firstMatch(of: #/: \d+ \((.*)\)$/#)?.output.1
            return only.map { Self(call: call, whole: String($0), holder: nil).event } ?? "waits for events of a file"
        }
        // A thread that is told of new data only once (EPOLLET), or that reads elsewhere, may miss what has arrived.
        if let bytes = whole.firstMatch(of: #/\b(\d{1,10}) bytes to read\b/#)?.output.1, bytes != "0" {
            return "waits for events although \(bytes) bytes have come"
                + ((peer ?? noun).map { " from \($0)" } ?? "")
        }
        if whole.contains("SYN_SENT"), let peer { return "waits for a connection to \(peer)" }
        if let peer {
            return whole.contains("nothing to read")
                ? "waits for an answer from \(peer)" : "waits for events of its connection to \(peer)"
        }
        if let acceptance { return acceptance }
        return whole.contains("LISTEN") ? "waits for a connection" : "waits for events of \(noun ?? subject)"
    }

    private var owner: String? {
        holder.map { holder in
            if isOwnThread, holder.relation == .locks { return "the process itself" }
            if holder.name.isEmpty, holder.state == nil { return "pid \(holder.process), which is gone" }
            let thread = isOwnThread ? holder.thread : nil
            return thread.map { "thread \($0) (\(holder.name))" } ?? "pid \(holder.process) (\(holder.name))"
        }
    }

    var words: String? {
        switch call {
        case "read", "readv", "pread64", "preadv", "preadv2", "recvfrom", "recvmsg", "recvmmsg":
            if let peer { return "waits for an answer from \(peer)" }
            if let announcement { return announcement }
            if subject?.hasPrefix("terminal") == true { return "waits for input from a terminal" }
            if let acceptance { return acceptance }
            return "waits for data"
                + (source.map { " from \($0)" } ?? (call.hasPrefix("recv") ? " from a socket" : ""))
        case "write", "writev", "pwrite64", "pwritev", "pwritev2", "sendto", "sendmsg", "sendmmsg", "sendfile",
            "splice",
            "vmsplice", "tee", "copy_file_range":
            if let peer { return "waits for \(peer) to take its data" }
            if let otherEnd, let noun {
                return "waits for \(otherEnd.name) (pid \(otherEnd.process)) to take its data through \(noun)"
            }
            return "waits to write" + (noun.map { " to \($0)" } ?? "")
        case "accept", "accept4": return "waits for a connection"
        case "connect": return "waits for a connection" + ((peer ?? subject).map { " to \($0)" } ?? "")
        case "poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2", "io_uring_enter",
            "io_getevents", "io_pgetevents":
            return event
        case "flock", "fcntl":
            return "waits for a file lock" + (subject.map { " on \($0)" } ?? "") + (owner.map { " of \($0)" } ?? "")
        case "futex", "futex_wait", "futex_waitv", "futex_wait_requeue_pi":
            guard let owner else {
                let hasEnded = whole.hasSuffix(", which has ended")
                return "waits for a lock " + (hasEnded ? "whose holder has ended" : "or for another thread")
            }
            if isItself, holder?.relation == .holds { return "waits for a lock that it holds itself" }
            return holder?.relation == .ends ? "waits for the end of \(owner)" : "waits for a lock that \(owner) holds"
        case "wait4", "waitid":
            let isAny = holder == nil || holder?.relation == .anyChild
            return "waits for " + (isAny ? "a child process" : owner ?? "a child process") + " to end"
        case "vfork", "clone", "clone3": return "waits for \(owner ?? "a child process") to start its program"
        case "nanosleep", "clock_nanosleep": return "sleeps because its own code told it to"
        case "rt_sigtimedwait" where holder == nil && subject?.hasPrefix("SIG") == true:
            return "waits for " + (subject ?? "a signal")
        case "pause", "rt_sigtimedwait", "rt_sigsuspend": return "waits for a signal"
        case "msgrcv", "mq_timedreceive": return "waits for a message"
        case "msgsnd", "mq_timedsend": return "waits for room in " + (subject ?? "a message queue")
        case "semop", "semtimedop": return "waits for a semaphore"
        case "open", "openat", "openat2", "creat":
            return "waits to open " + (subject ?? "a file") + (owner.map { ", leased by \($0)" } ?? "")
        case "fsync", "fdatasync", "msync", "sync", "syncfs":
            return "waits for a disk to write " + (subject ?? "its data")
        case "stat", "lstat", "fstat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "unlink", "unlinkat",
            "rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "getdents64", "readlink", "readlinkat",
            "link", "linkat", "symlink", "symlinkat", "mknod", "mknodat", "chmod", "fchmod", "fchmodat", "chown",
            "fchown",
            "fchownat", "utime", "utimes", "utimensat", "truncate", "ftruncate", "fallocate", "statfs", "fstatfs",
            "chdir",
            "fchdir", "execve", "execveat", "getxattr", "setxattr", "listxattr", "fgetxattr", "fsetxattr", "mount",
            "umount2",
            "close":
            return "waits for a file system" + (subject.map { ": \($0)" } ?? "")
        default: return nil
        }
    }
}
