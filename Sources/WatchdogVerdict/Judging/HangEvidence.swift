// SPDX-License-Identifier: Apache-2.0

/// What was observed of a process during the window in which its main thread did not answer.
///
/// Any part may be missing; the verdict then says less. All times belong to the main thread.
public struct HangEvidence: Hashable, Sendable {
    /// The time from the start of the allowance to the last examination.
    public var window: Duration?
    /// Time on a CPU within the window: the difference of `/proc/PID/task/PID/schedstat` field 1.
    public var runTime: Duration?
    /// Time runnable without a CPU within the window: the difference of field 2.
    public var runDelay: Duration?
    /// How long watchdogd itself kept the thread stopped within the window, to read its stack.
    public var stopped = Duration.zero
    /// The letter of `/proc/PID/task/PID/stat` field 3, read before anything stopped the process.
    public var state: Character?
    /// The text of `/proc/PID/task/PID/syscall`, read before anything stopped the process.
    public var syscall: String?
    /// The text of `/proc/PID/task/PID/wchan`, read before anything stopped the process.
    public var waitChannel: String?
    /// `TracerPid` of `/proc/PID/status`; 0 when nothing traces the process.
    public var tracer: Int?
    /// Whether `cgroup.events` of the process's cgroup says `frozen 1`.
    public var isFrozen: Bool?
    /// The number of CPUs online, sysconf(3) `_SC_NPROCESSORS_ONLN`.
    public var processorCount: Int
    /// Which other resources were short during the window.
    public var strain: Strain?
    /// What the system call works on, if more is known than the number of a descriptor.
    ///
    /// Without parentheses, such as `fd 7: TCP 127.0.0.1:51234 → 127.0.0.1:8080, nothing received`; replaces `fd 7` in
    /// the verdict.
    public var subject: String?
    /// What the main thread waits for, what its holder waits for, and so on; empty when nothing is known.
    ///
    /// Says the same as ``subject``, with sources; if both are set, ``subject`` is shown.
    public var waits: [WaitDetails]

    /// What other threads of the process wait for, in calls that wait for somebody's answer.
    public var besides: [WaitDetails] = []

    /// Whether all samples show the main thread in one sleep, and the last look shows it in the same call.
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
    /// Whether the freezer of cgroup version 1 holds the main thread, which then shows as an uninterruptible sleep.
    var isInFreezer: Bool {
        guard state == "D", let waitChannel else { return false }
        return Self.freezers.contains(waitChannel)
    }

    /// Whether the main thread sleeps until the child that it starts executes a program or ends, which no device delays.
    var isStartingChild: Bool {
        guard state == "D", let call = SystemCall.blocking(syscall) else { return false }
        return call.suspendsForChild ?? (waits.first?.holder?.relation == .child)
    }

    /// Whether the main thread waits for another thread that changes the process's memory map.
    var isWaitingForMemoryMap: Bool { MemoryMapWait.isOne(state: state, waitChannel: waitChannel) }

    /// Whether the main thread waits until somebody thaws a file system.
    var isOnFrozenFileSystem: Bool {
        FrozenFileSystem.isAwaited(
            state: state, waitChannel: waitChannel, call: SystemCall.blocking(syscall).map { $0.name ?? "" })
    }

    /// Whether the main thread sleeps uninterruptibly for what a process can end, and not a device.
    var isWaitingForProcess: Bool { isStartingChild || isWaitingForMemoryMap }

    /// `__refrigerator` in `kernel/freezer.c`; before Linux 3.3 without underscores.
    private static let freezers: Set<String> = ["__refrigerator", "refrigerator", "freezer"]
}
