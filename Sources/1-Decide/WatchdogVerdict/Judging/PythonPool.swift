// SPDX-License-Identifier: Apache-2.0

/// A worker of one of Python's pools, by the functions on its stack: `multiprocessing.pool` and `concurrent.futures`.
enum PythonPool {
    /// The functions that take a task and run it, with the ends of their files' paths.
    private static let workers: [(file: String, function: String)] = [
        ("/multiprocessing/pool.py", "worker"), ("/concurrent/futures/process.py", "_process_worker"),
        ("/concurrent/futures/thread.py", "_worker"),
    ]

    /// Whether a thread runs a task: between the worker's loop and the innermost frame is code of the app.
    ///
    /// What is outside of the loop does not count: a forked worker still has the functions of its parent below it.
    static func runsTask(_ thread: CapturedThread) -> Bool {
        let calls = thread.frames.filter { $0.language == .python && $0.trust != .scan }
        guard let loop = calls.firstIndex(where: isWorker) else { return false }
        return calls[..<loop].contains { CodeOwner(.python, symbol: $0.symbol, file: $0.sourceFile) != .runtime }
    }

    private static func isWorker(_ call: Frame) -> Bool {
        workers.contains { file, function in
            call.sourceFile?.hasSuffix(file) == true && call.symbol.map { $0 == function } == true
        }
    }
}

extension NamedStack {
    /// Whether the thread waits for a `Lock`, `Semaphore` or `Queue` of Python's multiprocessing, a semaphore in memory that its
    /// processes share.
    var isForPythonProcesses: Bool {
        syscall == "futex" && images.prefix(8).contains { $0.hasPrefix("_multiprocessing.") }
    }
}
