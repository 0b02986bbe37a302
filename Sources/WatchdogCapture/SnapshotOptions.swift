// SPDX-License-Identifier: Apache-2.0

public import WatchdogReport

/// How to take a snapshot and what becomes of the process.
public struct SnapshotOptions: Sendable, Equatable {
    /// What happens to the process once its memory is copied.
    public enum Ending: Sendable, Equatable {
        /// It goes on as before; a process that was stopped by a signal stays stopped.
        case release
        /// It is killed with SIGKILL, while still frozen.
        ///
        /// - Parameters:
        ///   - controlGroup: descriptor of the `cgroup.kill` file of its control group, or nil.
        ///   - processGroup: a process group to be killed too, or nil.
        case kill(controlGroup: Int32? = nil, processGroup: Int32? = nil)
    }

    /// A descriptor that refers to the process, or nil to open one by process id.
    ///
    /// It stays the caller's.
    public var pidfd: Int32?
    /// `/proc/PID/stat` field 22 that the process must have, in clock ticks, or nil.
    public var startTime: UInt64?
    /// The best method to try.
    ///
    /// ``CapturedProcess/Method/procfsRegisters`` stops nothing and interrupts no system call.
    public var method: CapturedProcess.Method
    /// What happens to the process afterwards.
    public var ending: Ending
    /// How long to wait for the threads to stop; one second at most.
    ///
    /// A thread that sleeps uninterruptibly is not waited for; one that gets no CPU is.
    public var stopTimeout: Duration

    /// Creates options; as they stand, the process is stopped for a moment and released.
    public init(
        pidfd: Int32? = nil,
        startTime: UInt64? = nil,
        method: CapturedProcess.Method = .ptrace,
        ending: Ending = .release,
        stopTimeout: Duration = .milliseconds(100)
    ) {
        self.pidfd = pidfd
        self.startTime = startTime
        self.method = method
        self.ending = ending
        self.stopTimeout = stopTimeout
    }
}
