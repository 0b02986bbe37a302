// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The waits of the threads of a Java virtual machine (HotSpot, JDK 8 to 25), by the machine's own functions and locks.
///
/// Where the owners of its locks are unknown, it still holds that if each thread that runs Java code waits for a lock or for
/// another thread, none of them can release a lock.
struct JavaLock {
    private enum Wait {
        /// To enter a `synchronized` block or method.
        case monitor
        /// In `LockSupport.park` without a limit: for a lock, a queue or a task of `java.util.concurrent`.
        case parked
        /// In `Object.wait` without a limit.
        case notified
        /// For a connection or its next event: idle between requests.
        case client
    }

    private let capture: CapturedProcess
    private let main: Int
    /// The waits of other threads.
    private let besides: [WaitDetails]
    private let chains: LockChains

    /// Nil for a process without a Java virtual machine.
    init?(in capture: CapturedProcess, main: Int, besides: [WaitDetails] = []) {
        guard capture.images.contains(where: { $0.name.hasPrefix("libjvm.so") }) else { return nil }
        self.capture = capture
        self.main = main
        self.besides = besides
        let owners = capture.threads.compactMap { thread in
            thread.javaLockOwner.flatMap { $0 == thread.id ? nil : (thread.id, $0) }
        }
        chains = LockChains(Dictionary(owners, uniquingKeysWith: { first, _ in first }))
    }

    /// A deadlock, the wait of the thread of Java's `main`, or that of several others for one; nil if these may end by
    /// themselves.
    var finding: Finding? {
        if let found = circle ?? deadlock { return found }
        return main(in: capture)?.javaLockOwner == nil ? crowd ?? wait : wait
    }

    // MARK: - Deadlocks

    /// Threads that wait for each other's locks, according to the locks themselves.
    var circle: Finding? {
        // That of main() first.
        let index = main(in: capture).flatMap { chains.circle[$0.id] } ?? (chains.circles.isEmpty ? nil : 0)
        guard let index else { return nil }
        let members = Set(chains.circles[index])
        let threads = capture.threads.filter { members.contains($0.id) }
        let ring = threads.filter(isMain) + threads.filter { !isMain($0) }
        let others = chains.circle.values.count { $0 == index } - members.count
        let shown = ring.prefix(3).map(title)
        let last = ring.count > 3 ? "\(ring.count - 2) more" : shown.last ?? ""
        let titles = (ring.count > 3 ? shown.prefix(2) : shown.dropLast()).joined(separator: ", ")
        return Finding(
            kind: .javaDeadlock,
            text: "Deadlock: \(titles) and \(last) wait for each other's Java locks (synchronized)"
                + (others == 0
                    ? "" : ", and \(others.counted("other thread waits", "other threads wait")) for theirs"),
            source: "ObjectMonitor::_owner of \(ring.count) locks",
            thread: ring.first { $0.id != main }?.id)
    }

    /// The end of a chain of locks: the owner of the lock for which a thread waits, the owner of the lock for which that one
    /// waits, and so on; nil if the thread waits for none, or in a circle.
    private func lastOwner(of thread: CapturedThread) -> CapturedThread? {
        chains.last[thread.id].flatMap { id in capture.threads.first { $0.id == id } }
    }

    private func main(in capture: CapturedProcess) -> CapturedThread? { capture.threads.first(where: isMain) }

    private func isMain(_ thread: CapturedThread) -> Bool { NamedStack(thread, in: capture).contains(["JavaMain"]) }

    private var deadlock: Finding? {
        let threads = appThreads
        let waits = threads.map { Self.wait(NamedStack($0, in: capture)) }
        guard waits.allSatisfy({ $0 != nil }) else { return nil }
        let waiters = zip(threads, waits).filter { $0.1 == .monitor }.map(\.0)
        guard waiters.count > 1 else { return nil }
        let shown = waiters.prefix(waiters.count > 3 ? 2 : 3).map(title)
        let last = waiters.count > 3 ? "\(waiters.count - 2) more" : shown.last ?? ""
        let titles = (waiters.count > 3 ? shown : shown.dropLast()).joined(separator: ", ")
        return Finding(
            kind: .javaDeadlock,
            text: "Probably a deadlock: \(titles) and \(last) wait for Java locks (synchronized), and no other Java "
                + "thread runs",
            source: "frames ObjectMonitor::enter on \(waiters.count) threads",
            thread: waiters.first { $0.id != main }?.id)
    }

    private var wait: Finding? {
        guard
            let thread = capture.threads.first(where: { thread in
                let stack = NamedStack(thread, in: capture)
                return stack.contains(["JavaMain"]) && !stack.contains(Self.ending)
            })
        else { return nil }
        let stack = NamedStack(thread, in: capture)
        let what: (words: String, functions: [String])
        switch Self.wait(stack) {
        case .monitor: what = ("waits for a Java lock (synchronized)", Self.monitor)
        case .parked:
            let call = Self.libraryCall(thread).map { "waits in \($0)()" }
            what = (call ?? "waits for a lock, a queue or a task of java.util.concurrent", Self.park)
        case .notified:
            let call = Self.libraryCall(thread).flatMap { $0 == "Object.wait" ? nil : "waits in \($0)()" }
            what = (call ?? "waits in Object.wait() until another thread calls notify()", Self.notify)
        case nil where Self.sleeps(stack):
            return Finding(
                kind: .otherThread,
                text: "Java's main(), in \(name(thread)), sleeps (Thread.sleep)\(place(stack, ", in "))",
                source: "its stack", thread: thread.id)
        case .client, nil: return nil
        }
        let frame = stack.first(what.functions) ?? 0
        let child = Self.wait(stack) == .monitor ? nil : awaitedChild
        if let owner = lastOwner(of: thread) {
            return Finding(
                kind: .javaLock,
                text: "Java's main(), in \(name(thread)), \(what.words)\(place(stack, ", in ")), which "
                    + possession(of: owner),
                source: "ObjectMonitor::_owner", thread: owner.id)
        }
        let words = child.map { ", probably for the end of its child \($0.process) \"\($0.name)\" (Process.waitFor())" }
        var finding = Finding(
            kind: .javaLock,
            text: "Java's main(), in \(name(thread)), \(what.words)\(words ?? "")\(place(stack, ", in "))"
                + (child == nil ? onlyOther(than: thread.id) ?? "" : ""),
            source: "frame \(frame): \(stack.names[frame].singleLine(limit: 128))", thread: thread.id)
        finding.processes = child.map { [$0.process] }
        return finding
    }

    /// The thread whose lock others need, most of those that need one.
    private var crowd: Finding? {
        let waiters = Dictionary(grouping: capture.threads.filter { chains.last[$0.id] != nil }) { chains.last[$0.id] }
        guard
            let (id, waiting) = waiters.max(by: { ($0.value.count, $1.key ?? 0) < ($1.value.count, $0.key ?? 0) }),
            let owner = capture.threads.first(where: { $0.id == id }), let first = waiting.first
        else { return nil }
        let subject = waiting.count == 1 ? name(first).capitalizingFirst + " waits" : "\(waiting.count) threads wait"
        return Finding(
            kind: .javaLock,
            text: "\(subject) for a Java lock (synchronized)\(place(NamedStack(first, in: capture), ", in ")), which "
                + possession(of: owner),
            source: "ObjectMonitor::_owner of \(waiting.count.counted("lock", "locks"))", thread: owner.id)
    }

    /// That a thread has a lock, and what it does: `thread 12 "writer" has while it runs, in Log.flush (Log.java:7)`.
    private func possession(of owner: CapturedThread) -> String {
        let stack = NamedStack(owner, in: capture)
        return "\(name(owner)) has while it \(deed(owner, stack))\(place(stack, ", in "))"
    }

    /// What a thread does: `is in read (fd 6: TCP …)`.
    private func deed(_ thread: CapturedThread, _ stack: NamedStack) -> String {
        guard let call = stack.syscall else { return "runs" }
        if Self.sleeps(stack) { return "sleeps (Thread.sleep)" }
        if call == "futex", let library = Self.libraryCall(thread) { return "waits in \(library)()" }
        let subject = besides.first { $0.thread == thread.id }.flatMap { WaitText([$0]).subject }
        return "is in \(call)\(subject.map { " (\($0))" } ?? "")"
    }

    private static func sleeps(_ stack: NamedStack) -> Bool { stack.contains(sleep) }

    /// The method of the library that the app's code has called, such as `ReentrantLock.lock`.
    private static func libraryCall(_ thread: CapturedThread) -> String? {
        let calls = thread.frames.filter { $0.language == .java && $0.trust != .scan }
        let library = calls.prefix { CodeOwner(.java, symbol: $0.symbol, file: $0.sourceFile) == .runtime }
        guard library.count < calls.count, let symbol = library.last?.symbol else { return nil }
        let parts = symbol.split(separator: ".").suffix(2)
        guard parts.count == 2, let type = parts.first?.split(separator: "$").last, let name = parts.last else {
            return nil
        }
        return "\(type).\(name)".singleLine(limit: 80)
    }

    /// The only other thread of the app that does not wait for a lock or another thread, in words; nil if several do not.
    private func onlyOther(than main: Int) -> String? {
        let others = appThreads.filter { $0.id != main }.map { ($0, NamedStack($0, in: capture)) }
            .filter { Self.wait($0.1) == nil }
        guard others.count == 1, let (thread, stack) = others.first, let call = stack.syscall,
            call != "futex" || Self.sleeps(stack)
        else { return nil }
        return ", and only \(name(thread)) does anything else: it \(deed(thread, stack))\(place(stack, ", in "))"
    }

    /// The child for whose exit the program waits, through a thread of the virtual machine; nil unless there is exactly
    /// one.
    private var awaitedChild: WaitDetails.Holder? {
        let reapers = Set(capture.threads.filter { $0.name.hasPrefix("process reaper") }.map(\.id))
        let children = besides.filter { reapers.contains($0.thread) }.compactMap(\.holder)
            .filter { $0.relation == .child }
        return children.count == 1 ? children.first : nil
    }

    /// The threads that may run the app's code: all but the virtual machine's own.
    private var appThreads: [CapturedThread] { capture.threads.filter { !isMachine($0) } }

    /// Whether a thread is the virtual machine's own, such as one that compiles.
    func isMachine(_ thread: CapturedThread) -> Bool {
        let stack = NamedStack(thread, in: capture)
        return Self.threads.contains(where: thread.name.hasPrefix) || stack.contains(Self.own)
            || stack.contains(Self.ending) || stack.contains(Self.launcher) && !stack.contains(["JavaMain"])
    }

    /// The wait of a thread; nil if it can end without another thread.
    private static func wait(_ stack: NamedStack) -> Wait? {
        guard stack.syscall != nil else { return nil }
        if ["epoll_wait", "epoll_pwait", "epoll_pwait2", "accept", "accept4"].contains(stack.syscall) {
            return .client
        }
        guard stack.syscall == "futex" else { return nil }
        // HotSpot waits for a contended monitor with a timeout, and repeats that; only its owner can end the wait.
        if stack.contains(monitor) { return .monitor }
        guard stack.first(timed, within: 6) == nil else { return nil }
        return stack.contains(park) ? .parked : stack.contains(notify) ? .notified : nil
    }

    private func name(_ thread: CapturedThread) -> String {
        "thread \(thread.id) \"\(thread.name.singleLine(limit: 32))\""
    }

    private func title(_ thread: CapturedThread) -> String {
        let stack = NamedStack(thread, in: capture)
        let what = isMain(thread) ? "Java's main() in " : ""
        return "\(what)\(name(thread))\(place(stack, ", at "))"
    }

    private func place(_ stack: NamedStack, _ preposition: String) -> String {
        stack.script.map { preposition + $0.singleLine(limit: 80) } ?? ""
    }

    private static let monitor = [
        "ObjectMonitor::enter", "ObjectMonitor::EnterI", "ObjectMonitor::enter_internal",
        "ObjectMonitor::enter_with_contention_mark", "ObjectMonitor::ReenterI", "ObjectMonitor::reenter_internal",
    ]
    private static let park = ["Unsafe_Park", "Parker::park"]
    private static let notify = ["ObjectMonitor::wait"]
    /// Until JDK 20, and since.
    private static let sleep = ["JavaThread::sleep", "JVM_Sleep", "JavaThread::sleep_nanos", "JVM_SleepNanos"]
    private static let timed = [
        "pthread_cond_timedwait", "___pthread_cond_timedwait64", "pthread_cond_clockwait",
        "___pthread_cond_clockwait64",
    ]
    /// Functions of the launcher's first thread, which only waits for the one that runs `main`.
    private static let launcher = ["CallJavaMainInNewThread", "ContinueInNewThread", "ContinueInNewThread0"]
    /// Functions of the main thread after `main`, when it waits for the program's other threads.
    private static let ending = ["jni_DestroyJavaVM", "Threads::destroy_vm", "DestroyJavaVM"]
    /// Functions of threads that never run Java code of the app.
    private static let own = [
        "GangWorker::run", "GangWorker::loop", "WorkerThread::run", "ConcurrentGCThread::run", "VMThread::run",
        "WatcherThread::run", "CompileBroker::compiler_thread_loop", "AsyncLogWriter::run",
    ]
    /// Names of such threads that run Java code of the library, cut to the kernel's 15 bytes.
    private static let threads = [
        "Reference Handl", "Finalizer", "Signal Dispatch", "Service Thread", "Monitor Deflati", "C1 CompilerThre",
        "C2 CompilerThre", "Sweeper thread", "Notification Th", "Common-Cleaner", "Attach Listener", "VM Thread",
        "VM Periodic Tas", "GC Thread#", "G1 ",
    ]
}

/// Where chains of locks lead, each from a thread that waits for a lock to the thread that has it.
private struct LockChains {
    /// The last thread of the chain from each thread that waits; none for one whose chain leads into a circle.
    private(set) var last: [Int: Int] = [:]
    /// Threads that wait for each other.
    private(set) var circles: [[Int]] = []
    /// The circle into which the chain from each thread leads: an index into ``circles``.
    private(set) var circle: [Int: Int] = [:]

    /// - Parameter owners: who has the lock for which each thread waits.
    init(_ owners: [Int: Int]) {
        for start in owners.keys.sorted() {
            var (path, places): ([Int], [Int: Int]) = ([], [:])
            var thread = start
            while let owner = owners[thread], last[thread] == nil, circle[thread] == nil, places[thread] == nil {
                places[thread] = path.count
                path.append(thread)
                thread = owner
            }
            if let place = places[thread] { circles.append(Array(path[place...])) }
            if let index = circle[thread] ?? (places[thread] == nil ? nil : circles.count - 1) {
                for earlier in path { circle[earlier] = index }
            } else {
                let end = last[thread] ?? thread
                for earlier in path { last[earlier] = end }
            }
        }
    }
}
