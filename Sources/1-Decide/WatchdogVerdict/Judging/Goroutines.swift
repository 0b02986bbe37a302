// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// A Go program in which no goroutine runs, according to its threads: its goroutines were not found.
///
/// A waiting goroutine is on no thread's stack, so the threads show only that none is runnable. Go's own deadlock check
/// does not fire while a connection or a timer exists.
struct Goroutines {
    /// The finding that all goroutines wait; nil if a thread may be running one.
    static func finding(in capture: CapturedProcess) -> Finding? {
        let stacks = capture.threads.map { NamedStack($0, in: capture) }
        // A Go program has at least two threads, because sysmon has its own.
        guard stacks.count > 1, stacks.contains(where: { $0.contains(scheduler) }), stacks.allSatisfy(isIdle) else {
            return nil
        }
        return Finding(
            kind: .goroutinesWait,
            text: "All goroutines wait: probably for a lock or a channel that none of them will release or serve, or "
                + "else for a timer or the network",
            source: "runtime.findRunnable, runtime.stopm or runtime.sysmon on all \(capture.threads.count) threads")
    }

    private static func isIdle(_ stack: NamedStack) -> Bool {
        stack.syscall != nil && (stack.contains(scheduler) || stack.contains(attendants))
    }

    /// Functions of threads without a runnable goroutine.
    private static let scheduler = [
        "runtime.findRunnable", "runtime.findrunnable", "runtime.stopm", "runtime.stoplockedm", "runtime.netpoll",
    ]
    /// Functions of threads that never run goroutines.
    private static let attendants = ["runtime.sysmon", "runtime.templateThread", "os/signal.signal_recv"]
}
