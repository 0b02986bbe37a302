// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The observations of a process during the window in which its main thread did not answer.
///
/// Any part may be missing; the verdict is then less specific. All times belong to the main thread.
public struct HangEvidence: Hashable, Sendable {
    /// The time from the start of the allowance to the last examination.
    public var window: Duration?
    /// Time on a CPU within the window: the difference of `/proc/PID/task/PID/schedstat` field 1.
    public var runTime: Duration?
    /// Time runnable without a CPU within the window: the difference of field 2.
    public var runDelay: Duration?
    /// The time within the window for which watchdogd itself stopped the thread, to read its stack.
    public var stopped = Duration.zero
    /// The letter of `/proc/PID/task/PID/stat` field 3, read before the process was stopped.
    public var state: Character?
    /// The text of `/proc/PID/task/PID/syscall`, read before the process was stopped.
    public var syscall: String?
    /// The text of `/proc/PID/task/PID/wchan`, read before the process was stopped.
    public var waitChannel: String?
    /// `TracerPid` of `/proc/PID/status`; 0 without a tracer.
    public var tracer: Int?
    /// Whether `cgroup.events` of the process's cgroup has `frozen 1`.
    public var isFrozen: Bool?
    /// The number of CPUs online, sysconf(3) `_SC_NPROCESSORS_ONLN`.
    public var processorCount: Int
    /// The other resources that were short during the window.
    public var strain: Strain?
    /// The object of the system call, if more is known than the number of a descriptor.
    ///
    /// Without parentheses, such as `fd 7: TCP 127.0.0.1:51234 → 127.0.0.1:8080, nothing received`; replaces `fd 7` in
    /// the verdict.
    public var subject: String?
    /// The wait of the main thread, the wait of its holder, and so on; empty if unknown.
    ///
    /// It has the same information as ``subject``, with sources; if both are set, ``subject`` is shown.
    public var waits: [WaitDetails]

    /// The waits of other threads of the process, in calls that wait for another party's answer.
    public var besides: [WaitDetails] = []

    /// Whether all samples show the main thread in one sleep, and the last examination shows it in the same call.
    public var isSameSleep = false

    /// Creates evidence; leave out what is not available.
    public init(
        window: Duration? = nil,
        runTime: Duration? = nil,
        runDelay: Duration? = nil,
        state: Character? = nil,
        syscall: String? = nil,
        waitChannel: String? = nil,
        tracer: Int? = nil,
        isFrozen: Bool? = nil,
        processorCount: Int,
        subject: String? = nil,
        waits: [WaitDetails] = []
    ) {
        self.window = window
        self.runTime = runTime
        self.runDelay = runDelay
        self.state = state
        self.syscall = syscall
        self.waitChannel = waitChannel
        self.tracer = tracer
        self.isFrozen = isFrozen
        self.processorCount = processorCount
        self.subject = subject
        self.waits = waits
    }
}

extension HangEvidence {
    /// Whether the freezer of cgroup version 1 holds the main thread.
    var isInFreezer: Bool { state == "D" && Freezer.holdsUninterruptibly(waitChannel) }

    /// Whether the main thread waits for the execve(2) or exit of its vfork(2) child, which is no device's fault.
    var isStartingChild: Bool {
        guard state == "D", let call = SystemCall.blocking(syscall) else { return false }
        return call.suspendsForChild ?? (waits.first?.holder?.relation == .child)
    }

    /// Whether the main thread waits while another thread changes the process's memory map.
    var isWaitingForMemoryMap: Bool { MemoryMapWait.isOne(state: state, waitChannel: waitChannel) }

    /// Whether the main thread waits for the thaw of a file system.
    var isOnFrozenFileSystem: Bool {
        FrozenFileSystem.isAwaited(
            state: state, waitChannel: waitChannel, call: SystemCall.blocking(syscall).map { $0.name ?? "" })
    }

    /// Whether the main thread's uninterruptible sleep is caused by a process and not by a device.
    var isWaitingForProcess: Bool { isStartingChild || isWaitingForMemoryMap }
}
