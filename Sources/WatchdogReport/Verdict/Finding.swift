// SPDX-License-Identifier: Apache-2.0

/// What the names on the stacks say of a hang beyond the kernel's view, with the frames that say so.
public struct Finding: Codable, Hashable, Sendable {
    /// Kinds of findings.
    public enum Kind: String, Codable, Sendable, CaseIterable {
        /// A name is being looked up.
        case nameLookup = "name-lookup"
        /// SQLite waits for a lock of its database.
        case sqliteBusy = "sqlite-busy"
        /// SQLite writes or syncs its database.
        case sqliteWrite = "sqlite-write"
        /// A semaphore of libdispatch.
        case dispatchSemaphore = "dispatch-semaphore"
        /// A group of libdispatch.
        case dispatchGroup = "dispatch-group"
        /// `DispatchQueue.sync`: its turn on a queue.
        case dispatchSync = "dispatch-sync"
        /// A one-time initialiser that another thread runs.
        case oneTimeInitialiser = "one-time-initialiser"
        /// A task of the main actor works or waits without suspending.
        case mainActorWork = "main-actor-work"
        /// Every thread of Swift's cooperative pool is taken.
        case cooperativePoolFull = "cooperative-pool-full"
        /// Python's global interpreter lock.
        case pythonGIL = "python-gil"
        /// A lock of Python's own threads.
        case pythonLock = "python-lock"
        /// A condition variable.
        case conditionVariable = "condition-variable"
        /// A read-write lock.
        case readWriteLock = "read-write-lock"
        /// A semaphore of POSIX.
        case posixSemaphore = "posix-semaphore"
        /// A barrier of threads.
        case barrier
        /// The lock of the allocator.
        case allocatorLock = "allocator-lock"
        /// The lock of the dynamic loader, or a library's initialiser.
        case loader
        /// A page of a file that is read from its disk.
        case pageIn = "page-in"
        /// A disk that is synced to.
        case diskSync = "disk-sync"
        /// A thread of lower priority holds what is waited for, and has no CPU.
        case priorityInversion = "priority-inversion"
        /// A child process is waited for.
        case childProcess = "child-process"
        /// A connection that is being made.
        case connecting
        /// A regular expression.
        case regularExpression = "regular-expression"
        /// `DispatchQueue.sync` in a circle.
        case dispatchDeadlock = "dispatch-deadlock"
        /// An event loop without work.
        case idleEventLoop = "idle-event-loop"
        /// A lock inside a database server.
        case databaseLock = "database-lock"
        /// A database server's answer.
        case databaseAnswer = "database-answer"
        /// A script that runs inside the program.
        case embeddedScript = "embedded-script"
    }

    /// What was found.
    public var kind: Kind
    /// One line for the reader, without a final stop.
    public var text: String
    /// The frames or files that say so.
    public var source: String
    /// Another thread that has to do with it, by its kernel id.
    public var thread: Int?

    /// Creates a finding.
    public init(kind: Kind, text: String, source: String, thread: Int? = nil) {
        self.kind = kind
        self.text = text
        self.source = source
        self.thread = thread
    }
}

extension Finding {
    /// What the stacks say, the nearest cause first; nothing where no name tells.
    ///
    /// A pure function of the capture and the evidence: frames that were found by scanning do not count.
    public static func all(in capture: CapturedProcess?, main: Int, evidence: HangEvidence) -> [Finding] {
        var findings: [Finding] = []
        if let inversion = priorityInversion(evidence) { findings.append(inversion) }
        if evidence.isPagingIn {
            let pages = evidence.strain?.majorFaults.map { " (\($0) so far)" } ?? ""
            findings.append(
                Finding(
                    kind: .pageIn, text: "Pages of files are read from the disk as they are touched\(pages)",
                    source: "/proc/PID/task/TID/stat fields 3 and 12, wchan"))
        }
        guard let capture, let thread = capture.threads.first(where: { $0.id == main }) else { return findings }
        let stack = NamedStack(thread, in: capture)
        let isHolderKnown = evidence.waits.first?.holder != nil
        findings += FindingRule.all.compactMap { $0.finding(in: stack, evidence) }.filter {
            !(isHolderKnown && $0.kind == .readWriteLock)
        }
        // A library's own wait tells more than the primitive that it is made of; two rules may mean the same.
        var seen: Set<Kind> = []
        findings = findings.filter { seen.insert($0.kind).inserted }
        findings = findings.map { finding in
            switch finding.kind {
            case .dispatchSync:
                dispatchDeadlock(capture, main: main)
                    ?? finding.naming(dispatchWorkers(capture, except: main), "runs a block of a queue")
            case .pythonGIL: finding.naming(interpreters(capture, except: main), "runs Python code or an extension")
            default: finding
            }
        }
        if let full = cooperativePool(capture, evidence) { findings.append(full) }
        return findings
    }

    private func naming(_ threads: [CapturedThread], _ deed: String) -> Finding {
        var finding = self
        if threads.count == 1, let thread = threads.first {
            finding.text += "; thread \(thread.id) \"\(thread.name.singleLine(limit: 32))\" \(deed)"
            finding.thread = thread.id
        } else if threads.count > 1 {
            finding.text += "; one of \(threads.count) threads that \(deed.replacingFirst("runs", with: "run"))"
        }
        return finding
    }

    private static func priorityInversion(_ evidence: HangEvidence) -> Finding? {
        guard let wait = evidence.waits.first, let holder = wait.holder, holder.relation == .holds,
            holder.state == "R", let own = wait.priority, let other = holder.priority, other > own
        else { return nil }
        return Finding(
            kind: .priorityInversion,
            text:
                "Priority inversion: thread \(holder.thread ?? holder.process) \"\(holder.name)\" holds the lock with "
                + "priority \(other), is runnable, and the main thread's priority is \(own) (less is more urgent)",
            source: "/proc/\(holder.process)/task/\(holder.thread ?? holder.process)/stat fields 3 and 18",
            thread: holder.thread)
    }

    private static let blockRunners = [
        "_dispatch_lane_serial_drain", "_dispatch_lane_invoke", "_dispatch_lane_barrier_sync_invoke_and_complete",
        "_dispatch_sync_invoke_and_complete", "_dispatch_lane_concurrent_drain", "_dispatch_client_callout",
    ]
    private static let queueWait = ["__DISPATCH_WAIT_FOR_QUEUE__"]

    /// Threads of libdispatch that run somebody's block.
    private static func dispatchWorkers(_ capture: CapturedProcess, except main: Int) -> [CapturedThread] {
        capture.threads.filter { thread in
            let stack = NamedStack(thread, in: capture)
            return thread.id != main && stack.contains(blockRunners) && !stack.contains(queueWait)
        }
    }

    /// The main thread is inside a queue and waits for another, so does a second thread, and nobody else runs a block.
    private static func dispatchDeadlock(_ capture: CapturedProcess, main: Int) -> Finding? {
        guard dispatchWorkers(capture, except: main).isEmpty else { return nil }
        let inside = capture.threads.filter { thread in
            let stack = NamedStack(thread, in: capture)
            return stack.contains(blockRunners) && stack.contains(queueWait)
        }
        guard inside.count > 1, inside.contains(where: { $0.id == main }),
            let other = inside.first(where: { $0.id != main })
        else { return nil }
        let more = inside.count > 2 ? " and \(inside.count - 2) more" : ""
        return Finding(
            kind: .dispatchDeadlock,
            text:
                "Deadlock of queues: the main thread and thread \(other.id) \"\(other.name.singleLine(limit: 32))\"\(more) "
                + "each run a block of a queue and wait for another in DispatchQueue.sync, and no other thread runs a block",
            source: "frames __DISPATCH_WAIT_FOR_QUEUE__ inside a block on \(inside.count) threads", thread: other.id)
    }

    /// Threads in the interpreter that do not wait for its lock themselves, nor gave it back for a call that blocks.
    private static func interpreters(_ capture: CapturedProcess, except main: Int) -> [CapturedThread] {
        capture.threads.filter { thread in
            let stack = NamedStack(thread, in: capture)
            return thread.id != main && stack.contains(["_PyEval_EvalFrameDefault"])
                && !stack.contains(["take_gil", "PyEval_RestoreThread", "PyEval_AcquireThread"])
                && (thread.state == "R" || !stack.isInPythonCallThatReleases)
        }
    }

    private static func cooperativePool(_ capture: CapturedProcess, _ evidence: HangEvidence) -> Finding? {
        let workers = capture.threads.filter { thread in
            let stack = NamedStack(thread, in: capture)
            return stack.contains(["swift_job_run", "swift_job_runImpl", "swift::runJobInEstablishedExecutorContext"])
                && stack.contains(["_dispatch_worker_thread", "_dispatch_root_queue_drain"])
        }
        guard workers.count >= evidence.processorCount, workers.count > 0 else { return nil }
        let blocked = workers.filter { $0.state != "R" }.count
        return Finding(
            kind: .cooperativePoolFull,
            text:
                "Swift's cooperative pool is full: \(workers.count) threads for \(evidence.processorCount) CPUs run tasks, "
                + "\(blocked) of them blocked in a call that does not suspend; no other task can run",
            source: "frames swift_job_run on \(workers.count) threads")
    }
}

extension String {
    fileprivate func replacingFirst(_ text: String, with other: String) -> String {
        guard let range = firstRange(of: text) else { return self }
        return self[..<range.lowerBound] + other + self[range.upperBound...]
    }
}

/// A thread's stack by names, innermost first.
struct NamedStack {
    /// Names without offset, with what the demangler or the linker put around them.
    let names: [String]
    let images: [String]
    let syscall: String?
    let state: String

    init(_ thread: CapturedThread, in capture: CapturedProcess) {
        let frames = thread.frames.filter { $0.trust != .scan }
        names = frames.map { $0.symbol ?? "" }
        images = frames.map { capture.images.indices.contains($0.imageIndex) ? capture.images[$0.imageIndex].name : "" }
        if case .inside(let call)? = thread.syscall.flatMap(SystemCall.position(in:)) {
            syscall = call.name
        } else {
            syscall = nil
        }
        state = thread.state
    }

    /// The innermost frame that is one of these functions.
    func first(_ functions: [String], within depth: Int = .max) -> Int? {
        names.prefix(depth).firstIndex { name in functions.contains { Self.isFunction(name, $0) } }
    }

    func contains(_ functions: [String]) -> Bool { first(functions) != nil }

    /// True for the function itself, for a variant of it (`foo.part.0`, `foo@@GLIBC_2.34`, `foo(int)`).
    static func isFunction(_ name: String, _ function: String) -> Bool {
        guard name.hasPrefix(function) else { return false }
        guard let next = name.dropFirst(function.count).first else { return true }
        return !(next.isLetter || next.isNumber || next == "_")
    }

    /// Whether the interpreter gives its lock back for the call in which it is.
    var isInPythonCallThatReleases: Bool {
        contains([
            "select_select_impl", "time_sleep", "sock_recv_guts", "sock_call_ex", "_io_FileIO_read_impl",
            "os_waitpid_impl",
            "lock_PyThread_acquire_lock", "acquire_timed", "PyThread_acquire_lock_timed", "os_read_impl",
        ])
            || ["clock_nanosleep", "nanosleep", "recvfrom", "poll", "select", "pselect6", "epoll_wait", "read"]
                .contains(syscall)
    }
}
