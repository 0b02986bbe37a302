// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import WatchdogVerdict

/// How to take a snapshot, and what happens to the process.
public struct SnapshotOptions: Sendable, Equatable {
    /// The treatment of the process after its memory is copied.
    public enum Ending: Sendable, Equatable {
        /// It continues as before; a process that was stopped by a signal stays stopped.
        case release
        /// It is killed with SIGKILL while still frozen.
        ///
        /// - Parameters:
        ///   - controlGroup: a descriptor of its cgroup's `cgroup.kill` file, or nil.
        ///   - processGroup: a process group to kill as well, or nil.
        case kill(controlGroup: Int32? = nil, processGroup: Int32? = nil)
    }

    /// A descriptor of the process; nil to open one by process ID.
    ///
    /// The caller continues to own it.
    public var pidfd: Int32?
    /// The value that `/proc/PID/stat` field 22 must have, in clock ticks; nil to skip the check.
    public var startTime: UInt64?
    /// The best method to try; by default ``CapturedProcess/Method/ptrace`` before a kill, and
    /// ``CapturedProcess/Method/procfsRegisters`` otherwise.
    ///
    /// ``CapturedProcess/Method/ptrace`` interrupts system calls of sleeping threads, which some programs take for an
    /// error: use it only for processes that are about to be killed. ``CapturedProcess/Method/procfsRegisters`` does
    /// not stop sleeping threads.
    public var method: CapturedProcess.Method {
        get { chosenMethod ?? (ending == .release ? .procfsRegisters : .ptrace) }
        set { chosenMethod = newValue }
    }
    private var chosenMethod: CapturedProcess.Method?
    /// Whether ``CapturedProcess/Method/procfsRegisters`` may stop threads that are on a CPU, one at a time and for
    /// tens of microseconds; their stacks cannot be read otherwise.
    ///
    /// No system call fails because of such a stop.
    public var stopsRunning: Bool
    /// Whether ``CapturedProcess/Method/procfsRegisters`` lets the kernel copy the stacks of threads on a CPU at their
    /// next tick, if perf_event_open(2) is permitted: they are not stopped, but their Python functions stay unknown.
    public var glances = false
    /// The treatment of the process afterward.
    public var ending: Ending
    /// The time limit for stopping the threads.
    ///
    /// The wait for threads in uninterruptible sleep is at most 20 ms. If the process is to be killed, the wait for
    /// threads that get no CPU or run in the kernel is up to 400 ms longer.
    public var stopTimeout: Duration

    /// Creates options; by default, the process continues undisturbed.
    ///
    /// - Parameter method: nil for the default of ``method``.
    public init(
        pidfd: Int32? = nil,
        startTime: UInt64? = nil,
        method: CapturedProcess.Method? = nil,
        stopsRunning: Bool = true,
        ending: Ending = .release,
        stopTimeout: Duration = .milliseconds(100)
    ) {
        self.pidfd = pidfd
        self.startTime = startTime
        chosenMethod = method
        self.stopsRunning = stopsRunning
        self.ending = ending
        self.stopTimeout = stopTimeout
    }
}

/// The end of something on another thread, for which closures wait.
///
/// Isolation: may be used from any thread; nothing here waits.
final class Ending: Sendable {
    /// Nil after the end.
    private let calls = Mutex<[@Sendable () -> Void]?>([])

    /// Calls the closures that wait, on this thread.
    func come() {
        let waiting = calls.withLock { $0.take() }
        for call in waiting ?? [] { call() }
    }

    /// Calls a closure after the end, at once or on another thread.
    func whenCome(_ call: @escaping @Sendable () -> Void) {
        let waits = calls.withLock { $0?.append(call) != nil }
        if !waits { call() }
    }
}
