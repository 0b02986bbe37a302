// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The waits of the threads of a Java virtual machine (HotSpot, JDK 8 to 25), by the machine's own functions.
///
/// The owners of its locks are not visible from outside. But if each thread that runs Java code waits for a lock or for
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

    /// Nil for a process without a Java virtual machine.
    init?(in capture: CapturedProcess, main: Int, besides: [WaitDetails] = []) {
        guard capture.images.contains(where: { $0.name.hasPrefix("libjvm.so") }) else { return nil }
        self.capture = capture
        self.main = main
        self.besides = besides
    }

    /// A probable deadlock, or the wait of the thread of Java's `main`; nil if that may end by itself.
    var finding: Finding? { deadlock ?? wait }

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
        case .parked: what = ("waits for a lock, a queue or a task of java.util.concurrent", Self.park)
        case .notified: what = ("waits in Object.wait() until another thread calls notify()", Self.notify)
        case nil where stack.contains(["JavaThread::sleep", "JVM_Sleep"]):
            return Finding(
                kind: .otherThread, text: "Java's main(), in \(name(thread)), sleeps (Thread.sleep)",
                source: "its stack",
                thread: thread.id)
        case .client, nil: return nil
        }
        let frame = stack.first(what.functions) ?? 0
        let child = Self.wait(stack) == .monitor ? nil : awaitedChild
        let words = child.map { ", probably for the end of its child \($0.process) \"\($0.name)\" (Process.waitFor())" }
        var finding = Finding(
            kind: .javaLock,
            text: "Java's main(), in \(name(thread)), \(what.words)\(words ?? "")\(place(stack, ", in "))"
                + (child == nil ? onlyOther(than: thread.id) ?? "" : ""),
            source: "frame \(frame): \(stack.names[frame].singleLine(limit: 128))", thread: thread.id)
        finding.processes = child.map { [$0.process] }
        return finding
    }

    /// The only other thread of the app that does not wait for a lock or another thread, in words; nil if several do not.
    private func onlyOther(than main: Int) -> String? {
        let others = appThreads.filter { $0.id != main }.map { ($0, NamedStack($0, in: capture)) }
            .filter { Self.wait($0.1) == nil }
        guard others.count == 1, let (thread, stack) = others.first, let call = stack.syscall, call != "futex" else {
            return nil
        }
        let subject = besides.first { $0.thread == thread.id }.flatMap { WaitText([$0]).subject }
        return ", and only \(name(thread)) does anything else: it is in \(call)\(subject.map { " (\($0))" } ?? "")"
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
    private var appThreads: [CapturedThread] {
        capture.threads.filter { thread in
            let stack = NamedStack(thread, in: capture)
            return !Self.threads.contains(where: thread.name.hasPrefix) && !stack.contains(Self.own)
                && !stack.contains(Self.ending) && !(stack.contains(Self.launcher) && !stack.contains(["JavaMain"]))
        }
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
        let what = stack.contains(["JavaMain"]) ? "Java's main() in " : ""
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
