// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// A Go program in which no goroutine runs.
///
/// A goroutine that waits is on no thread's stack, so that the threads show only that none has one to run. Go's own check
/// for a deadlock does not see one as long as a connection or a timer exists.
struct Goroutines {
    /// The finding that all goroutines wait; nil if a thread may run one.
    static func finding(in capture: CapturedProcess) -> Finding? {
        let stacks = capture.threads.map { NamedStack($0, in: capture) }
        // A Go program has two threads at least: that of its monitor, too.
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

    /// Threads without a goroutine to run.
    private static let scheduler = [
        "runtime.findRunnable", "runtime.findrunnable", "runtime.stopm", "runtime.stoplockedm", "runtime.netpoll",
    ]
    /// Threads that never run one.
    private static let attendants = ["runtime.sysmon", "runtime.templateThread", "os/signal.signal_recv"]
}
