// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The wait of a Python thread for a lock of the threading module, by the functions on its stack.
///
/// The interpreter does not record the owner of a lock. But if every thread that runs Python code is inside `acquire`,
/// none of them can release a lock.
struct PythonLock {
    /// A thread that waits in its own call of `acquire`, or in a `with` statement.
    private struct Waiter {
        let thread: Int
        /// The function and line, such as `transfer (bank.py:12)`.
        let place: String
    }

    private let capture: CapturedProcess
    private let main: Int

    init(in capture: CapturedProcess, main: Int) {
        self.capture = capture
        self.main = main
    }

    /// Adds details to a finding.
    func refined(_ finding: Finding) -> Finding {
        guard let thread = capture.threads.first(where: { $0.id == main }) else { return finding }
        var finding = finding
        if let circle {
            let others = circle.filter { $0.thread != main }
            let shown = circle.prefix(circle.count > 3 ? 2 : 3).map(\.place)
            let last = circle.count > 3 ? "\(circle.count - 2) more" : shown.last ?? ""
            let places = (circle.count > 3 ? shown : shown.dropLast()).joined(separator: ", ")
            finding.kind = .pythonDeadlock
            finding.text =
                "Probably a deadlock: \(places) and \(last) wait for Python locks, and no other Python thread runs"
            finding.thread = others.first?.thread
        } else if let what = Self.what(Self.calls(thread)) {
            finding.text = "The thread waits for \(what)"
            if let other = onlyOther {
                finding.text += ": \(other.words)"
                finding.thread = other.thread
            }
        }
        return finding
    }

    /// The threads of a deadlock, the main thread first; nil if another thread may release a lock.
    private var circle: [Waiter]? {
        let threads = capture.threads.filter { !Self.calls($0).isEmpty }
        guard threads.allSatisfy(isStuck) else { return nil }
        let waiters = threads.compactMap(Self.waiter)
        guard waiters.count > 1, waiters.contains(where: { $0.thread == main }) else { return nil }
        // A thread that is between two Python calls has no Python frame, but it could release a lock.
        let strangers = capture.threads.filter { thread in
            Self.calls(thread).isEmpty && (thread.frames.isEmpty || thread.state == "R")
        }
        guard strangers.isEmpty else { return nil }
        return waiters.filter { $0.thread == main } + waiters.filter { $0.thread != main }
    }

    /// What the only other thread that runs the app's own Python code does; nil without such a thread, or with several.
    private var onlyOther: (thread: Int, words: String)? {
        let others = capture.threads.filter { thread in
            thread.id != main
                && Self.calls(thread).contains {
                    CodeOwner(.python, symbol: $0.symbol, file: $0.sourceFile) != .runtime
                }
        }
        guard others.count == 1, let thread = others.first else { return nil }
        let stack = NamedStack(thread, in: capture)
        let deed = stack.syscall.map { "is in \($0)" } ?? "runs"
        let name = thread.name.singleLine(limit: 32)
        return (thread.id, "the only other one, thread \(thread.id) \"\(name)\", \(deed)\(stack.origin)")
    }

    /// Functions that take a lock: until 3.12, and since.
    static let functions = ["PyThread_acquire_lock_timed", "_PyMutex_LockTimed"]

    /// Whether the thread waits for a lock without a timeout, the fourth argument of futex(2).
    private func isStuck(_ thread: CapturedThread) -> Bool {
        NamedStack(thread, in: capture).first(Self.functions, within: 12) != nil
            && SystemCall.blocking(thread.syscall).map { $0.name == "futex" && $0.arguments[3] == 0 } ?? false
    }

    /// Nil for a thread that waits in the library's own code, such as an idle one of a pool.
    private static func waiter(_ thread: CapturedThread) -> Waiter? {
        guard let call = calls(thread).first,
            CodeOwner(.python, symbol: call.symbol, file: call.sourceFile) != .runtime
        else { return nil }
        return Waiter(thread: thread.id, place: (call.place ?? "???").singleLine(limit: 80))
    }

    /// The wait for a child in `Popen.wait` with a timeout, which sleeps between looks at the child; nil for any other.
    static func childWait(of thread: CapturedThread) -> Finding? {
        guard let call = calls(thread).first, call.sourceFile?.hasSuffix("/subprocess.py") == true,
            call.symbol?.hasSuffix("_wait") == true,
            SystemCall.blocking(thread.syscall)?.name?.hasSuffix("nanosleep") == true
        else { return nil }
        return Finding(
            kind: .childProcess, text: "The thread waits for a child process, for whose end it looks again and again",
            source: "the Python function Popen._wait")
    }

    /// The Python functions on the stack, innermost first.
    private static func calls(_ thread: CapturedThread) -> [Frame] {
        thread.frames.filter { $0.language == .python && $0.trust != .scan }
    }

    /// The object for which a function of the standard library waits; nil if the app's code calls `acquire` itself.
    private static func what(_ calls: [Frame]) -> String? {
        for call in calls {
            guard CodeOwner(.python, symbol: call.symbol, file: call.sourceFile) == .runtime else { break }
            let module = call.sourceFile?.split(separator: "/").last ?? ""
            let function = call.symbol?.split(separator: ".").last ?? ""
            switch (module, function) {
            case ("threading.py", "join"), ("threading.py", "_wait_for_tstate_lock"):
                return "the end of another Python thread (join)"
            case ("threading.py", "_shutdown"): return "the end of its other Python threads, to exit"
            case ("threading.py", "_wait"), ("threading.py", "wait_for"):
                if call.symbol?.hasPrefix("Barrier.") == true { return "the other threads at a Python Barrier" }
            case ("threading.py", "acquire"):
                if call.symbol?.hasPrefix("Semaphore.") == true { return "a Python Semaphore" }
            case ("queue.py", "get"): return "an item in a Python Queue"
            case ("queue.py", "put"): return "room in a Python Queue"
            case ("queue.py", "join"): return "the end of all tasks of a Python Queue"
            case ("_base.py", "result"), ("_base.py", "exception"): return "the result of a Python Future"
            case ("_base.py", "wait"), ("_base.py", "result_iterator"): return "the results of Python Futures"
            default: continue
            }
        }
        let isInLibrary = calls.first.map { $0.sourceFile?.hasSuffix("/threading.py") == true } ?? false
        return isInLibrary ? "a Python Event or Condition, which another thread must set or notify" : nil
    }
}
