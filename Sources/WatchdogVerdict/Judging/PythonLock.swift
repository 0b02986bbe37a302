// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// What a thread of Python waits for in a lock of its threading module, from its functions.
///
/// The interpreter does not record who holds a lock. But if every thread that runs Python code is inside `acquire`, none
/// of them can release what another waits for.
struct PythonLock {
    /// A thread that waits in its own call of `acquire`, or in a `with` statement.
    private struct Waiter {
        let thread: Int
        /// As in `transfer (bank.py:12)`.
        let place: String
    }

    private let capture: CapturedProcess
    private let main: Int

    init(in capture: CapturedProcess, main: Int) {
        self.capture = capture
        self.main = main
    }

    /// The finding in more words.
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
        }
        return finding
    }

    /// The threads of a deadlock, the main thread first; nil if another thread may yet release a lock.
    private var circle: [Waiter]? {
        let threads = capture.threads.filter { !Self.calls($0).isEmpty }
        guard threads.allSatisfy(isStuck) else { return nil }
        let waiters = threads.compactMap(Self.waiter)
        guard waiters.count > 1, waiters.contains(where: { $0.thread == main }) else { return nil }
        // A thread between two calls of Python has no frame of it: it might go on.
        let strangers = capture.threads.filter { thread in
            Self.calls(thread).isEmpty && (thread.frames.isEmpty || thread.state == "R")
        }
        guard strangers.isEmpty else { return nil }
        return waiters.filter { $0.thread == main } + waiters.filter { $0.thread != main }
    }

    /// Functions that take a lock: until 3.12, and since.
    static let functions = ["PyThread_acquire_lock_timed", "_PyMutex_LockTimed"]

    /// Whether the thread waits for a lock without a timeout, the fourth argument of futex(2).
    private func isStuck(_ thread: CapturedThread) -> Bool {
        NamedStack(thread, in: capture).first(Self.functions, within: 12) != nil
            && SystemCall.blocking(thread.syscall).map { $0.name == "futex" && $0.arguments[3] == 0 } ?? false
    }

    /// Nil for a thread of a pool, say, that waits for work in the library's own code.
    private static func waiter(_ thread: CapturedThread) -> Waiter? {
        guard let call = calls(thread).first,
            CodeOwner(.python, symbol: call.symbol, file: call.sourceFile) != .runtime
        else { return nil }
        return Waiter(thread: thread.id, place: (call.place ?? "???").singleLine(limit: 80))
    }

    /// The Python functions on the stack, innermost first.
    private static func calls(_ thread: CapturedThread) -> [Frame] {
        thread.frames.filter { $0.language == .python && $0.trust != .scan }
    }

    /// What the standard library's own function waits for; nil if the app's code calls `acquire` itself.
    private static func what(_ calls: [Frame]) -> String? {
        for call in calls {
            guard CodeOwner(.python, symbol: call.symbol, file: call.sourceFile) == .runtime else { break }
            let module = call.sourceFile?.split(separator: "/").last ?? ""
            let function = call.symbol?.split(separator: ".").last ?? ""
            switch (module, function) {
            case ("threading.py", "join"), ("threading.py", "_wait_for_tstate_lock"):
                return "the end of another Python thread (join)"
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
