// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension Finding {
    /// The obligation that the process did not meet.
    public enum Awaited: Sendable {
        /// None: a user requested the stacks.
        case nothing
        /// Readiness: of the other threads, only a computing one can delay it.
        case readiness
        /// An answer.
        case answer
    }

    /// The findings from the stacks, the most direct cause first; empty if no name is recognized.
    ///
    /// A pure function of its arguments. Frames that were found by scanning do not count.
    ///
    /// - Parameter tree: the main process and the app's others; nil if other processes cannot be the cause.
    public static func all(
        in capture: CapturedProcess?, main: Int, evidence: HangEvidence, samples: ProcessSamples? = nil,
        tree: Descendants? = nil, awaits: Awaited = .answer
    ) -> [Finding] {
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
        // A future of C++ joins its thread within a one-time initializer.
        let isForThread = evidence.waits.first?.holder?.relation == .ends
        findings += FindingRule.all.compactMap { $0.finding(in: stack, evidence) }.filter {
            !(isHolderKnown && [.readWriteLock, .libraryLock].contains($0.kind)
                || isForThread && $0.kind == .oneTimeInitialiser)
        }
        let ruby = RubyWait(stack, evidence, isAlone: capture.threads.count == 1)?.finding
        findings += [ruby, PythonLock.childWait(of: thread)].compactMap(\.self)
        if let idle = EventLoop(stack, hasReturned: samples?.hasReturned(main) ?? false).finding {
            // The script that started the loop is not running now.
            findings.removeAll { $0.kind == .embeddedScript }
            findings.append(idle)
        }
        // A library's own wait is more specific than the primitive it is built on. Two rules may yield the same
        // finding.
        var seen: Set<Kind> = []
        findings = findings.filter { seen.insert($0.kind).inserted }
        if seen.contains(.allocatorLock) { findings.removeAll { $0.kind == .libraryLock } }
        findings = findings.map { finding in
            switch finding.kind {
            case .dispatchSync:
                dispatchDeadlock(capture, main: main)
                    ?? finding.naming(dispatchWorkers(capture, except: main), "runs a block of a queue")
            case .pythonGIL:
                (finding.naming(interpreterLockHolder: capture, except: main)
                    ?? finding.naming(interpreters(capture, except: main), "runs Python code or an extension"))
                    .noting(convoy: interpreterQueue(capture, except: main))
            case .readWriteLock: finding.naming(writersIn: capture, except: main, besides: stack)
            case .pythonLock: PythonLock(in: capture, main: main).refined(finding)
            case .libraryLock: LibraryLock(stack).refined(finding)
            case .allocatorLock: LibraryLock(stack).refined(finding, of: FindingRule.allocating)
            default: finding
            }
        }
        // The stacks of goroutines that wait are on no thread.
        let goroutines = GoroutineWaits(in: capture, evidence, samples)?.finding(mainThread: main)
        if let goroutines { findings.insert(goroutines, at: 0) }
        let starved = OtherThread.starvedSignaller(in: capture, main: main, evidence, samples, of: findings)
        if let starved { findings.insert(starved, at: 0) }
        if let full = cooperativePool(capture, evidence) { findings.append(full) }
        if !seen.contains(.idleEventLoop), let alone = SoleThread.finding(in: capture, evidence) {
            findings.append(alone)
        }
        // Without an event loop's frame: its own timeout may look like a pause.
        if !seen.contains(.idleEventLoop), !seen.contains(.sqliteBusy),
            let pauses = repeatedSleep(stack, evidence, hasReturned: samples?.hasReturned(main) ?? false)
        {
            findings.insert(pauses, at: 0)
        }
        guard awaits != .nothing else { return findings }
        guard let tail = WaitTail(evidence, in: capture, main: main, findings) else { return findings }
        // Not if a starved thread was already found.
        let other =
            starved == nil
            ? OtherThread.finding(
                in: capture, main: main, evidence, samples, tail, computingOnly: awaits == .readiness) : nil
        let java = JavaLock(in: capture, main: main, besides: evidence.besides)
        if let circle = java?.circle { return [circle] + findings }
        let process = tree?.finding(
            tail, isAlone: capture.threads.count == 1, hasReturned: samples?.hasReturned(main) ?? false, evidence)
        if process == nil, other.map(\.isAsleep) ?? true, let idle = Goroutines.finding(in: capture) {
            // The sleeping thread belongs to the scheduler.
            return (goroutines == nil ? [idle] : []) + findings
        }
        // What a virtual machine compiles or collects beside a lock is not the cause.
        let isMachines = other.flatMap { other in capture.threads.first { $0.id == other.thread } }
            .map { java?.isMachine($0) ?? false }
        if isMachines ?? true, process == nil, let java = java?.finding { return [java] + findings }
        // A thread that waits for a child is not the cause if the child is stuck.
        let waitsForChild = other.flatMap { other in capture.threads.first { $0.id == other.thread } }
            .map { EventWait.children.contains(NamedStack($0, in: capture).syscall ?? "") }
        return findings + [waitsForChild == false ? other : process ?? other].compactMap(\.self)
    }

    /// Adds who waits to write, behind whom a reader waits by the lock's own choice, even one that has it already.
    private func naming(writersIn capture: CapturedProcess, except main: Int, besides stack: NamedStack) -> Finding {
        func calls(_ words: String, _ stack: NamedStack) -> Bool {
            stack.syscall == "futex" && stack.names.prefix(6).contains { $0.contains(words) }
        }
        guard calls("rwlock_rdlock", stack) else { return self }
        let writers = capture.threads.filter { $0.id != main && calls("rwlock_wrlock", NamedStack($0, in: capture)) }
        guard writers.count == 1, let writer = writers.first else { return self }
        var finding = self
        finding.text =
            "The thread waits for a read-write lock for which thread \(writer.id) "
            + "\"\(writer.name.singleLine(limit: 32))\" waits to write; a thread that reads already may not read again then"
        finding.thread = writer.id
        return finding
    }

    private static func repeatedSleep(
        _ stack: NamedStack, _ evidence: HangEvidence, hasReturned: Bool
    ) -> Finding? {
        guard hasReturned, let call = stack.syscall,
            call.hasSuffix("nanosleep")
                || EventLoop.polling.contains(call) && evidence.waits.first?.subject?.hasSuffix("no fd") == true
        else { return nil }
        return Finding(
            kind: .repeatedSleep,
            text: "The thread sleeps again and again because what it checks for in between does not happen",
            source: "samples of its stack and CPU time")
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

    /// Adds the thread that holds the interpreter's lock, according to the interpreter, and its Python function.
    private func naming(interpreterLockHolder capture: CapturedProcess, except main: Int) -> Finding? {
        guard let holder = capture.interpreterLockHolder, holder != main,
            let thread = capture.threads.first(where: { $0.id == holder })
        else { return nil }
        var finding = self
        let place = NamedStack(thread, in: capture).script.map { ", in \($0.singleLine(limit: 256))" } ?? ""
        finding.text += "; thread \(holder) \"\(thread.name.singleLine(limit: 32))\" holds it\(place)"
        finding.thread = holder
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

    /// Threads of libdispatch that are running a block.
    private static func dispatchWorkers(_ capture: CapturedProcess, except main: Int) -> [CapturedThread] {
        capture.threads.filter { thread in
            let stack = NamedStack(thread, in: capture)
            return thread.id != main && stack.contains(blockRunners) && !stack.contains(queueWait)
        }
    }

    /// The main thread is inside a queue and waits for another one, a second thread does the same, and no other thread
    /// runs a block.
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

    /// Threads inside the interpreter that neither wait for its lock nor released it for a blocking call.
    private static func interpreters(_ capture: CapturedProcess, except main: Int) -> [CapturedThread] {
        capture.threads.filter { thread in
            let stack = NamedStack(thread, in: capture)
            return thread.id != main && stack.contains(["_PyEval_EvalFrameDefault"])
                && !stack.isWaitingForInterpreter
                && (thread.state == "R" || !stack.isInPythonCallThatReleases)
        }
    }

    /// The number of other threads that wait for the interpreter's lock.
    private static func interpreterQueue(_ capture: CapturedProcess, except main: Int) -> Int {
        capture.threads.count { $0.id != main && NamedStack($0, in: capture).isWaitingForInterpreter }
    }

    private func noting(convoy count: Int) -> Finding {
        guard count > 0 else { return self }
        var finding = self
        finding.text +=
            "; \(count) other thread\(count == 1 ? " waits" : "s wait") for it too, and each has to take its turn"
        return finding
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

/// The names on a thread's stack, innermost first.
struct NamedStack {
    /// Names of machine functions without offsets, but with decorations of the demangler or the linker.
    let names: [String]
    /// The same without what precedes a function's name, to compare them with known ones.
    private let functions: [Substring]
    /// The function of a language with a runtime, such as Python, that is nearest to the innermost frame, the app's own
    /// first; nil if there is none.
    let script: String?
    let images: [String]
    /// The source files of the functions; nil if unknown.
    let files: [String?]
    let syscall: String?
    let state: String

    init(_ thread: CapturedThread, in capture: CapturedProcess) {
        let frames = thread.frames.filter { $0.trust != .scan }
        names = frames.map { $0.machineSymbol ?? "" }
        functions = names.map(Self.withoutReturnType)
        let calls = frames.filter { $0.language != nil }
        let scripts = calls.map { CodeOwner($0.language ?? .jit, symbol: $0.symbol, file: $0.sourceFile) }
        let own = scripts.min()
        script = zip(calls, scripts).first { $0.1 == own }?.0.place
        images = frames.map { capture.images.indices.contains($0.imageIndex) ? capture.images[$0.imageIndex].name : "" }
        files = frames.map(\.sourceFile)
        syscall = SystemCall.blocking(thread.syscall)?.name
        state = thread.state
    }

    /// The index of the innermost frame whose function is one of these.
    func first(_ known: [String], within depth: Int = .max) -> Int? {
        functions.prefix(depth).firstIndex { function in known.contains { Self.isFunction(function, $0) } }
    }

    /// A function's name without the return type that the demangled name of a C++ template begins with
    /// (`void std::foo<int>(int)`).
    private static func withoutReturnType(_ name: String) -> Substring {
        guard let end = name.firstIndex(where: { $0 == "<" || $0 == "(" }), name[end] == "<",
            let space = name[..<end].lastIndex(of: " "), !name[..<end].contains("operator")
        else { return name[...] }
        return name[name.index(after: space)...]
    }

    func contains(_ functions: [String]) -> Bool { first(functions) != nil }

    /// Whether a name is the function itself or a variant of it (`foo.part.0`, `foo@@GLIBC_2.34`, `foo(int)`).
    static func isFunction(_ name: some StringProtocol, _ function: String) -> Bool {
        guard name.hasPrefix(function) else { return false }
        guard let next = name.dropFirst(function.count).first else { return true }
        return !(next.isLetter || next.isNumber || next == "_")
    }

    /// Whether the thread waits for Python's interpreter lock.
    ///
    /// In a stripped interpreter, `take_gil` has no symbol. But of the calls below a frame of Python code, only it
    /// waits for a condition with a timeout: locks use semaphores.
    var isWaitingForInterpreter: Bool {
        if first(Self.interpreterLock, within: 12) != nil { return true }
        guard syscall == "futex", let wait = first(Self.timedWait, within: 4) else { return false }
        let caller = names[(wait + 1)...].prefix(4).first { !$0.isEmpty && !Self.timedWait.contains($0) }
        return caller.map { Self.isFunction($0, "_PyEval_EvalFrameDefault") } ?? false
    }

    static let interpreterLock = ["take_gil", "PyEval_RestoreThread", "PyEval_AcquireThread", "PyGILState_Ensure"]
    private static let timedWait = [
        "pthread_cond_timedwait", "___pthread_cond_timedwait64", "pthread_cond_clockwait",
        "___pthread_cond_clockwait64",
        "__pthread_cond_wait_common",
    ]

    /// Whether the interpreter releases its lock during the current call.
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
