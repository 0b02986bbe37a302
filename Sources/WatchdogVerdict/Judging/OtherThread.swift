// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The thread to look at when the main thread itself is not the cause, because it waits in its loop, for another thread's
/// end, or for the process's memory map.
struct OtherThread {
    private enum Deed: Int, Comparable {
        /// Sleeps in a call that its own code made.
        case sleeps
        case isStopped
        case isUninterruptible
        case computes

        static func < (one: Deed, other: Deed) -> Bool { one.rawValue < other.rawValue }
    }

    /// Calls in which a thread serves nobody; sleeps and reads, which idle helper threads also do, come last.
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
    /// The share of the time, in percent, for which a thread that computes wanted a CPU.
    static let computing = 50
    /// Without samples, a runnable thread computes if it has run for at least this long since its start.
    static let leastRun: UInt64 = 100_000_000

    private let thread: CapturedThread
    private let deed: Deed
    private let weight: Int64
    private let words: String

    /// - Returns: nil when the thread does nothing remarkable.
    private init?(_ thread: CapturedThread, in capture: CapturedProcess, _ samples: ProcessSamples?) {
        let stack = NamedStack(thread, in: capture)
        self.thread = thread
        let sampled = samples.flatMap { samples in samples.threads.first { $0.id == thread.id } }
        let call = stack.syscall.map { " in \($0)" } ?? ""
        let own = stack.ownFunction.map { ", from \(Self.short($0))" } ?? ""
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
                : "computes (\(ran) s of \(window) s on a CPU)\(own)"
        } else if thread.state == "D", let name = stack.syscall, EventWait.starts.contains(name) {
            (deed, weight, words) = (.sleeps, 0, "waits in \(name) for its child to execute a program\(own)")
        } else if thread.state == "D" {
            (deed, weight, words) = (.isUninterruptible, 0, "is in uninterruptible sleep\(call)\(own)")
        } else if sampled == nil, thread.state == "R", thread.runNanoseconds >= Self.leastRun {
            (deed, weight, words) = (.computes, Int64(clamping: thread.runNanoseconds), "computes\(own)")
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

    /// A function without the types of its parameters, which take up a line in C++.
    static func short(_ function: String) -> String {
        let name = function.count > 40 ? String(function.prefix { $0 != "(" }) : function
        return name.singleLine(limit: 96)
    }

    /// The finding that names the thread to look at; nil when there is none.
    ///
    /// - Parameters:
    ///   - findings: what the main thread's own stack says.
    ///   - computingOnly: whether only threads that compute are an explanation.
    static func finding(
        in capture: CapturedProcess?, main: Int, _ evidence: HangEvidence, _ samples: ProcessSamples?,
        beside findings: [Finding], computingOnly: Bool
    ) -> Finding? {
        guard let capture else { return nil }
        let isIdle = findings.contains { $0.kind == .idleEventLoop }
        let joined = evidence.waits.first?.holder.flatMap { $0.relation == .ends ? $0.thread : nil }
        let isForMap = evidence.isWaitingForMemoryMap
        guard isIdle || joined != nil || isForMap else { return nil }
        let others = capture.threads.filter { $0.id != main }.compactMap { Self($0, in: capture, samples) }
            .filter { $0.deed == .computes || (joined == nil && !computingOnly) }
            .filter { !isForMap || $0.mayHoldMemoryMap(in: capture) }
        let most = others.max {
            ($0.thread.id == joined ? 1 : 0, $0.deed, $0.weight) < ($1.thread.id == joined ? 1 : 0, $1.deed, $1.weight)
        }
        guard let most else { return nil }
        let same = others.filter { $0.deed == most.deed }.count
        let more = same > 1 && most.thread.id != joined ? "; \(same - 1) more like it" : ""
        let name = most.thread.name.singleLine(limit: 32)
        let meanwhile =
            isForMap
            ? "the main thread waits for \(MemoryMapWait.subject)"
            : isIdle ? "the main thread waits in its loop" : "the main thread waits for a thread's end"
        return Finding(
            kind: .otherThread,
            text: "Thread \(most.thread.id) \"\(name)\" \(most.words)\(more), while \(meanwhile)",
            source: samples == nil ? "/proc/PID/task/TID/stat field 3" : "samples of its state and CPU time",
            thread: most.thread.id)
    }
}

extension OtherThread {
    /// Waits that nobody owns: any thread could end them.
    private static let unowned: [Finding.Kind: String] = [
        .dispatchSemaphore: "a semaphore", .posixSemaphore: "a semaphore", .dispatchGroup: "a group",
        .conditionVariable: "a condition", .barrier: "a barrier",
    ]

    /// The inversion when the main thread waits for what nobody owns, and the only other thread that does not sleep
    /// gets hardly any CPU: at most a fifth of the time, of which it wanted four fifths.
    static func starvedSignaller(
        in capture: CapturedProcess, main: Int, _ evidence: HangEvidence, _ samples: ProcessSamples?,
        of findings: [Finding]
    ) -> Finding? {
        guard let samples, samples.duration > .zero, evidence.waits.first?.holder == nil,
            let what = findings.lazy.compactMap({ unowned[$0.kind] }).first
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
    /// The innermost function outside of libc that has a name; in an interpreter, the script's.
    var ownFunction: String? {
        if let script { return script }
        return zip(names, images).first { name, image in
            !name.isEmpty && !["libc.", "libc-", "libpthread", "ld-", "[vdso]"].contains(where: image.hasPrefix)
        }?.0
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
