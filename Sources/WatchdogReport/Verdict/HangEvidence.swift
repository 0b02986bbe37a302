// SPDX-License-Identifier: Apache-2.0

/// What was seen of a process over the window in which its main thread did not answer.
///
/// Every part may be missing; the verdict then says less. All times belong to the main thread.
public struct HangEvidence: Hashable, Sendable {
    /// From the start of the allowance to the last look.
    public var window: Duration?
    /// Time on a CPU within the window: the difference of `/proc/PID/task/PID/schedstat` field 1.
    public var runTime: Duration?
    /// Time runnable without a CPU within the window: the difference of field 2.
    public var runDelay: Duration?
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
    /// CPUs that were online, sysconf(3) `_SC_NPROCESSORS_ONLN`.
    public var processorCount: Int
    /// What else was short meanwhile.
    public var strain: Strain?
    /// What the system call works on, where more is known than a descriptor's number.
    ///
    /// Without parentheses, such as `fd 7: TCP 127.0.0.1:51234 → 127.0.0.1:8080, nothing received`; stands in place of
    /// `fd 7`.
    public var subject: String?
    /// What the main thread waits for, on what its holder waits, and so on; empty when nothing is known of it.
    ///
    /// Says what ``subject`` says, with sources; where both are set, ``subject`` is shown.
    public var waits: [WaitDetails]

    /// Creates evidence; leave out what could not be had.
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
