// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The thread that may be the cause if the main thread is not, because that waits in its loop, for another thread's
/// end, or for the process's memory map.
struct OtherThread {
    private enum Deed: Int, Comparable {
        /// Sleeps in a call that its own code made.
        case sleeps
        case looksUpHost
        case isStopped
        case isUninterruptible
        case computes

        static func < (one: Deed, other: Deed) -> Bool { one.rawValue < other.rawValue }
    }

    /// Calls in which a thread is not serving requests; sleeps and reads, which idle helper threads also do, come last.
    private static let waits: [String] = [
        "clock_nanosleep", "nanosleep", "read", "poll", "wait4", "waitid", "msgrcv", "semop", "semtimedop", "write",
        "writev", "recvmsg", "recvfrom", "sendmsg", "sendto", "connect", "pread64", "pwrite64", "fdatasync", "fsync",
        "open", "openat", "fcntl", "flock", "futex",
    ]
    /// An idle worker waits for a condition or a semaphore, a stuck one for a mutex.
    static let locks = [
        "__lll_lock_wait", "__GI___lll_lock_wait", "__lll_lock_wait_private", "pthread_mutex_lock",
        "___pthread_mutex_lock", "__pthread_mutex_lock_full", "pthread_rwlock_rdlock", "___pthread_rwlock_rdlock",
        "pthread_rwlock_wrlock", "___pthread_rwlock_wrlock",
    ]
    /// The minimum share of the time, in percent, for which a computing thread ran or wanted a CPU.
    static let computing = 50
    /// Without samples, the minimum CPU time, in nanoseconds since its start, of a runnable thread that counts as
    /// computing.
    static let leastRun: UInt64 = 100_000_000

    private let thread: CapturedThread
    private let deed: Deed
    private let weight: Int64
    private let words: String
    /// The system call in which it is blocked, and what that works on.
    private let wait: (call: String?, subject: String?)
    /// `, from crunch`.
    private let origin: String

    /// - Returns: nil if the thread does nothing unusual.
    private init?(
        _ thread: CapturedThread, in capture: CapturedProcess, _ samples: ProcessSamples?, _ waits: [WaitDetails]
    ) {
        let stack = NamedStack(thread, in: capture)
        // Ignore the wait of a thread that has moved between the two samples.
        let wait = waits.first { wait in
            wait.thread == thread.id && SystemCall.blocking(wait.syscall)?.name == stack.syscall
        }
        let subject = wait.flatMap { WaitText([$0]).subject }
        self.thread = thread
        let sampled = samples.flatMap { samples in samples.threads.first { $0.id == thread.id } }
        let call = stack.syscall.map { " in \($0)\(subject.map { " (\($0))" } ?? "")" } ?? ""
        let computes = GarbageCollection.isDone(by: thread, stack) ? "collects garbage" : "computes"
        let own = stack.origin
        self.wait = (stack.syscall, wait?.subject)
        origin = own
        if thread.state == "T" || thread.state == "t" {
            (deed, weight, words) = (.isStopped, 0, "is stopped")
        } else if let samples, let sampled, samples.duration > .zero,
            samples.wanted(sampled) * 100 >= samples.duration * Self.computing
        {
            let ran = sampled.runTime.seconds(fractionDigits: 2)
            let window = samples.duration.seconds(fractionDigits: 2)
            (deed, weight) = (.computes, sampled.runTime.nanoseconds)
            words =
                sampled.runTime * 10 < samples.wanted(sampled)
                ? "could run, but had a CPU for only \(ran) s of \(window) s\(own)"
                : "\(computes) (\(ran) s of \(window) s on a CPU)\(own)"
        } else if thread.state == "D", let name = stack.syscall, EventWait.starts.contains(name) {
            (deed, weight, words) = (.sleeps, 0, "waits in \(name) for its child to execute a program\(own)")
        } else if thread.state == "D" {
            (deed, weight, words) = (.isUninterruptible, 0, "is in uninterruptible sleep\(call)\(own)")
        } else if sampled == nil, thread.state == "R", thread.runNanoseconds >= Self.leastRun {
            (deed, weight, words) = (.computes, Int64(clamping: thread.runNanoseconds), "\(computes)\(own)")
        } else if thread.state == "S", stack.syscall != "futex", stack.contains(FindingRule.lookups) {
            (deed, weight, words) = (.looksUpHost, 0, "looks up a host name and waits\(call)\(own)")
        } else if thread.state == "S", let name = stack.syscall, let rank = Self.waits.firstIndex(of: name),
            name != "futex" || stack.first(Self.locks, within: 4) != nil, sampled.map({ $0.runs.count == 1 }) ?? true,
            stack.ownFunction != nil, EventLoop(stack, hasReturned: true).finding == nil
        {
            (deed, weight, words) = (.sleeps, Int64(rank), "sleeps\(call)\(own)")
        } else {
            return nil
        }
    }

    /// Whether it is in a call that changes the memory map, and does not only wait for the lock itself.
    private func mayHoldMemoryMap(in capture: CapturedProcess) -> Bool {
        let waits = MemoryMapWait.isOne(state: thread.state.first, waitChannel: thread.waitChannel)
        return (deed == .computes || deed == .isUninterruptible && !waits)
            && MemoryMapWait.isChange(NamedStack(thread, in: capture))
    }

    /// A function without the types of its parameters, which fill a line in C++.
    static func short(_ function: String) -> String {
        let name = function.count > 40 ? String(function.prefix { $0 != "(" }) : function
        return name.singleLine(limit: 96)
    }

    /// The finding about the thread that may be the cause; nil without one.
    ///
    /// - Parameters:
    ///   - tail: the end of the main thread's wait chain within its process.
    ///   - computingOnly: whether only computing threads can be the cause.
    static func finding(
        in capture: CapturedProcess, main: Int, _ evidence: HangEvidence, _ samples: ProcessSamples?,
        _ tail: WaitTail, computingOnly: Bool
    ) -> Finding? {
        let isForMap = evidence.isWaitingForMemoryMap
        let others = capture.threads.filter { $0.id != main }
            .compactMap { Self($0, in: capture, samples, evidence.besides + evidence.waits) }
        let meanwhile: String
        var candidates = others
        var isOnlyOne = false
        if isForMap {
            meanwhile = "waits for \(MemoryMapWait.subject)"
            candidates = others.filter { $0.mayHoldMemoryMap(in: capture) }
        } else if !tail.isMain, let last = others.first(where: { $0.thread.id == tail.thread.id }),
            last.deed == .computes || last.deed == .looksUpHost
        {
            let isJoined = evidence.waits.first?.holder?.relation == .ends
            meanwhile = isJoined ? "waits for a thread's end" : "waits for a lock"
            candidates = [last]
        } else if tail.isIdle {
            meanwhile = tail.meanwhile("waits in its loop")
            if !tail.isMain { candidates = others.filter { $0.deed > .sleeps && $0.thread.id != tail.thread.id } }
        } else if let unowned = tail.ownerless {
            meanwhile = tail.meanwhile("waits for \(unowned)")
            // Exclude threads that sleep: they may themselves wait for the main thread.
            candidates = others.filter {
                [.computes, .looksUpHost].contains($0.deed) && $0.thread.id != tail.thread.id
            }
            if candidates.isEmpty {
                isOnlyOne = true
                candidates = remaining(of: others, capture, main, tail, evidence.besides)
            }
            if candidates.isEmpty, let stuck = heldUp(in: capture, by: main, tail, evidence, unowned) { return stuck }
            if candidates.isEmpty, !computingOnly, let held = withLock(tail, evidence, unowned) { return held }
        } else {
            return nil
        }
        if computingOnly { candidates.removeAll { $0.deed != .computes } }
        guard let most = candidates.max(by: { ($0.deed, $0.weight) < ($1.deed, $1.weight) }) else { return nil }
        let same = candidates.filter { $0.deed == most.deed }.count
        let more = same > 1 ? "; \(same - 1) more like it" : ""
        let name = most.thread.name.singleLine(limit: 32)
        var finding = Finding(
            kind: .otherThread,
            text: "Thread \(most.thread.id) \"\(name)\" \(most.words)\(more), while the main thread \(meanwhile)",
            source: samples == nil ? "/proc/PID/task/TID/stat field 3" : "samples of its state and CPU time",
            thread: most.thread.id)
        finding.isAsleep = most.deed == .sleeps && !isOnlyOne
        return finding
    }

    /// The thread that is in a call of its own while it holds the lock for which others wait, or else the only one that waits
    /// for something outside of its process, or several in the same place; empty if others may be the cause.
    private static func remaining(
        of others: [Self], _ capture: CapturedProcess, _ main: Int, _ tail: WaitTail, _ besides: [WaitDetails]
    ) -> [Self] {
        // A runtime's own threads wait, too, and Python's finding has the only other thread.
        let isNamed = tail.findings.contains { $0.kind == .pythonLock && $0.thread != nil }
        guard !isNamed, !capture.images.contains(where: { $0.name.hasPrefix("libjvm.so") }) else { return [] }
        let rest = others.filter { $0.thread.id != tail.thread.id && $0.wait.call != "futex" }
        let owners = besides.filter { $0.thread != main && $0.holder?.relation == .holds }.map { $0.holder?.thread }
        let holding = rest.filter { owners.contains($0.thread.id) }
        if !holding.isEmpty { return holding.count == 1 ? holding : [] }
        let outside = rest.filter(\.waitsForOthers)
        guard let first = outside.first,
            outside.allSatisfy({ $0.origin == first.origin && $0.wait.call == first.wait.call })
        else { return [] }
        return outside
    }

    /// Whether it waits for another program, another machine, or a device, and not for a time, an order or a thread of its
    /// process.
    private var waitsForOthers: Bool {
        guard deed == .sleeps || deed == .isUninterruptible, let call = wait.call, !call.hasSuffix("nanosleep") else {
            return false
        }
        if EventWait.children.contains(call) { return true }
        guard let subject = wait.subject, !subject.contains("other end in this process") else { return false }
        if EventLoop.polling.contains(call) { return PolledFiles(subject).map { !$0.areOwn } ?? false }
        let file = subject.firstRange(of: ": ").map { subject[$0.upperBound...] } ?? ""
        return !ProcessDeed.orders.contains(where: file.hasPrefix) && !file.hasPrefix("signalfd")
    }

    /// The finding that another thread waits for a lock of the main thread, which waits for something without an owner: nobody
    /// else may be left to give it.
    private static func heldUp(
        in capture: CapturedProcess, by main: Int, _ tail: WaitTail, _ evidence: HangEvidence, _ what: String
    ) -> Finding? {
        let waiting = evidence.besides.first { wait in
            wait.holder?.relation == .holds && wait.holder?.thread == main && wait.holder?.process == wait.process
        }
        guard tail.isMain, let waiting, let thread = capture.threads.first(where: { $0.id == waiting.thread }) else {
            return nil
        }
        let isOnly = capture.threads.count == 2
        let name = thread.name.singleLine(limit: 32)
        let words = "thread \(thread.id) \"\(name)\" waits for a lock that the main thread holds"
        return Finding(
            kind: .otherThread,
            text: (isOnly ? "Deadlock: \(words)" : "Probably a deadlock: \(words)")
                + NamedStack(thread, in: capture).origin
                + ", while the main thread waits for \(what)",
            source: "its futex(2) word", thread: thread.id)
    }

    /// The finding that a thread waits for something without an owner while the main thread waits for its lock.
    private static func withLock(_ tail: WaitTail, _ evidence: HangEvidence, _ what: String) -> Finding? {
        guard !tail.isMain, evidence.waits.first?.holder?.relation == .holds else { return nil }
        let name = tail.thread.name.singleLine(limit: 32)
        return Finding(
            kind: .otherThread,
            text: "Thread \(tail.thread.id) \"\(name)\" waits for \(what)\(tail.stack.origin), while the main thread "
                + "waits for its lock",
            source: "its stack", thread: tail.thread.id)
    }
}

extension OtherThread {
    /// The priority inversion if the main thread's wait has no owner, and the only other thread that does not sleep is
    /// starved: it wanted a CPU for four fifths of the time, and had one for at most a fifth.
    static func starvedSignaller(
        in capture: CapturedProcess, main: Int, _ evidence: HangEvidence, _ samples: ProcessSamples?,
        of findings: [Finding]
    ) -> Finding? {
        guard let samples, samples.duration > .zero, evidence.waits.first?.holder == nil,
            let what = findings.lazy.compactMap({ WaitTail.unowned[$0.kind] }).first
        else { return nil }
        let awake = capture.threads.filter { $0.id != main && $0.state != "S" && $0.state != "I" }
        guard awake.count == 1, let thread = awake.first, thread.state == "R",
            let sampled = samples.threads.first(where: { $0.id == thread.id }),
            sampled.runTime * 5 <= samples.duration, samples.wanted(sampled) * 5 >= samples.duration * 4
        else { return nil }
        let ran = sampled.runTime.seconds(fractionDigits: 2)
        let window = samples.duration.seconds(fractionDigits: 2)
        return Finding(
            kind: .priorityInversion,
            text: "Priority inversion: the main thread waits for \(what), and thread \(thread.id) "
                + "\"\(thread.name.singleLine(limit: 32))\", the only one that does not sleep and could end that, had a CPU "
                + "for \(ran) s of \(window) s",
            source: "/proc/PID/task/\(thread.id)/stat field 3, schedstat fields 1 and 2", thread: thread.id)
    }
}

extension NamedStack {
    /// `, from crunch`: the innermost function of interest; empty without one.
    var origin: String {
        if script == nil, names.first == "", images.first == BinaryImage.unknown.name {
            return ", in code that its runtime generated"
        }
        return ownFunction.map { ", from \(OtherThread.short($0))" } ?? ""
    }

    /// The innermost function outside of libc that has a name, the app's own before those of standard libraries; in an
    /// interpreter, the script's.
    var ownFunction: String? {
        if let script { return script }
        let outside = names.indices.filter { index in
            !names[index].isEmpty
                && !["libc.", "libc-", "libpthread", "ld-", "[vdso]"].contains(where: images[index].hasPrefix)
        }
        let own = outside.first { CodeOwner(compiled: names[$0], file: files[$0]) == .app }
        return (own ?? outside.first).map { names[$0] }
    }
}

extension ProcessSamples {
    /// The time for which a thread ran or waited for a CPU.
    ///
    /// The kernel counts a wait for a CPU only once it is over; a thread that was runnable in every sample never slept.
    func wanted(_ thread: Thread) -> Duration {
        let isAlwaysRunnable = thread.sampleCount > 1 && thread.runs.allSatisfy { stacks[$0.stack].state == "R" }
        return isAlwaysRunnable ? duration : thread.runTime + thread.runDelay
    }
}
