// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The activity of a process of the app other than its main process, according to two samples of its first thread.
struct ProcessDeed {
    enum Strength: Int, Comparable {
        /// It is idle, or waits for its children.
        case waits
        /// It is in a timed sleep, which is normal for a process between two rounds.
        case pauses
        /// It is in a call of its own code, which an idle process may also make.
        case sleeps
        /// It is stopped, computes, or is in a call that an idle process does not make.
        case isStuck

        static func < (one: Strength, other: Strength) -> Bool { one.rawValue < other.rawValue }
    }

    let strength: Strength
    /// `is blocked in flock (fd 3: /var/lock/cache), from open_cache (app.py:5)`.
    let words: String
    /// The processes of the app for which this one waits.
    let leadsTo: [Int]
    /// Whether it is healthy if those are: it waits for a lock, or for their output.
    let yields: Bool

    /// Calls that only a busy process makes.
    private static let stuck: Set<String> = [
        "open", "openat", "openat2", "creat", "write", "writev", "pwrite64", "pwritev", "sendto", "sendmsg", "connect",
        "flock", "fcntl", "fsync", "fdatasync", "msync", "sync", "syncfs", "pread64", "stat", "lstat", "fstat",
        "newfstatat", "statx", "access", "faccessat", "faccessat2", "unlink", "unlinkat", "rename", "renameat",
        "renameat2", "mkdir", "mkdirat", "rmdir", "getdents64", "readlink", "readlinkat", "execve", "close",
    ]
    /// Calls that an idle process may also make.
    private static let sleeping: Set<String> = [
        "read", "readv", "recvfrom", "recvmsg", "recvmmsg", "msgrcv", "mq_timedreceive", "clock_nanosleep", "nanosleep",
        "splice", "sendfile",
    ]
    private static let locking: Set<String> = ["flock", "fcntl", "futex"]
    /// Files from which an idle process reads its next command.
    static let orders = ["terminal ", "eventfd", "timerfd", "inotify"]
    /// Waits in libraries that only a busy process makes, in any call.
    private static let work: Set<Finding.Kind> = [
        .nameLookup, .sqliteBusy, .sqliteWrite, .dispatchSync, .oneTimeInitialiser, .allocatorLock, .databaseLock,
        .databaseAnswer,
    ]

    /// - Parameters:
    ///   - tree: the app's processes.
    ///   - evidence: the use of the CPUs, if it was observed.
    init(_ process: OtherProcess, in tree: Descendants, _ evidence: HangEvidence) {
        let capture = process.capture
        let thread = capture?.threads.first { $0.id == process.pid }
        let stack = thread.flatMap { thread in capture.map { NamedStack(thread, in: $0) } }
        let own = stack?.origin ?? ""
        let states = [String(process.state)] + (thread.map { [$0.state] } ?? [])
        let wait = process.waits.first { $0.process == process.pid }
        let calls = [wait?.syscall, thread?.syscall].compactMap(\.self).map { SystemCall.blocking($0)?.name }
        // A process that has moved between the two samples is not stuck.
        let call = calls.first.flatMap { first in calls.allSatisfy { $0 == first } ? first : nil }
        let subject = WaitText(process.waits).subject.map { " (\($0))" } ?? ""
        let place = call.map { " in \($0)\(subject)" } ?? ""
        let children = tree.children(of: process.pid)
        if states.allSatisfy({ $0 == "T" || $0 == "t" }) {
            self.init(.isStuck, states.contains("T") ? "is stopped" : "is stopped by a tracer")
        } else if thread?.isFrozen == true || evidence.namesFrozen(process.pid) {
            self.init(.isStuck, "is frozen with its cgroup")
        } else if let computing = Self.computing(process, states, evidence) {
            self.init(.isStuck, computing + own)
        } else if let call, EventWait.starts.contains(call), let child = wait?.holder?.process {
            self.init(.waits, "", leadsTo: [child])
        } else if states.count > 1, states.allSatisfy({ $0 == "D" }) {
            self.init(.isStuck, "is in uninterruptible sleep\(place)\(own)")
        } else if states.allSatisfy({ $0 == "S" }), let call {
            let ends = OtherEnds(wait?.subject ?? "")
            let isLoop = stack.map { EventLoop($0, hasReturned: true).finding != nil } ?? false
            let findings = stack.map { stack in
                FindingRule.all.compactMap { $0.finding(in: stack, HangEvidence(processorCount: 1))?.kind }
            }
            let isAtWork =
                findings?.contains(where: Self.work.contains) ?? false || thread.map(PythonPool.runsTask) ?? false
            let events = EventWait(
                call, wait, isLoop: isLoop, isForChild: findings?.contains(.childProcess) ?? false,
                isAlone: capture?.threads.count == 1, descendants: tree.descendants(of: process.pid))
            let leadsTo = ([wait?.holder?.process].compactMap(\.self) + ends.processes).filter { $0 != process.pid }
            let words = "is blocked in \(call)\(subject)\(own)"
            if let events, !isAtWork {
                self.init(.waits, "", leadsTo: events.processes.isEmpty ? children : events.processes)
            } else if isAtWork || Self.isStuck(in: call, wait, stack) || capture.map(SoleThread.isStuck) == true {
                self.init(.isStuck, words, leadsTo: leadsTo, yields: Self.locking.contains(call))
            } else if Self.isSleeping(in: call, wait, ends, below: [tree.main, process.parentPID]) {
                let isPause = call.hasSuffix("nanosleep")
                self.init(isPause ? .pauses : .sleeps, words, leadsTo: leadsTo, yields: true)
            } else {
                self.init(.waits, "", leadsTo: children)
            }
        } else {
            self.init(.waits, "", leadsTo: children)
        }
    }

    private init(_ strength: Strength, _ words: String, leadsTo: [Int] = [], yields: Bool = false) {
        self.strength = strength
        self.words = words
        self.leadsTo = leadsTo
        self.yields = yields
    }

    private static func isStuck(in call: String, _ wait: WaitDetails?, _ stack: NamedStack?) -> Bool {
        // An idle worker waits for a condition or a semaphore, a stuck one for a mutex.
        guard call != "futex" else {
            return wait?.holder?.relation == .holds || stack?.first(OtherThread.locks, within: 4) != nil
        }
        return stuck.contains(call)
    }

    private static func isSleeping(
        in call: String, _ wait: WaitDetails?, _ ends: OtherEnds, below masters: [Int]
    ) -> Bool {
        let subject = wait?.subject ?? ""
        // It waits for another party's answer.
        if EventLoop.polling.contains(call), !call.hasPrefix("epoll_"), subject.hasPrefix("fd ") {
            return subject.contains(" → ")
        }
        let file = subject.firstRange(of: ": ").map { subject[$0.upperBound...] } ?? ""
        // A write by the main process or the parent would be a command.
        return sleeping.contains(call) && !orders.contains(where: file.hasPrefix)
            && !ends.processes.contains(where: masters.contains)
    }

    /// The description of a computing process; nil if it does not compute, or has only just started.
    private static func computing(
        _ process: OtherProcess, _ states: [String], _ evidence: HangEvidence
    ) -> String? {
        let first = process.capture?.threads.first { $0.id == process.pid }
        let isRunnable = states.allSatisfy { $0 == "R" } && (first?.runNanoseconds ?? 0) >= OtherThread.leastRun
        guard let strain = evidence.strain, strain.processorWindow > .zero, !strain.consumers.isEmpty else {
            return isRunnable ? "computes" : nil
        }
        let time = strain.consumers.first { $0.process == process.pid }?.time ?? .zero
        let had = "\(time.seconds(fractionDigits: 2)) s of \(strain.processorWindow.seconds(fractionDigits: 2)) s"
        if time * 100 >= strain.processorWindow * OtherThread.computing { return "computes (\(had) on a CPU)" }
        // On a machine without idle CPU time, a runnable process may be starved.
        return isRunnable && strain.isFull(evidence.processorCount) ? "could run, but had a CPU for only \(had)" : nil
    }
}
