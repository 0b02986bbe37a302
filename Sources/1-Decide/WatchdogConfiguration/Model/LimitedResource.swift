// SPDX-License-Identifier: Apache-2.0

/// A resource that getrlimit(2) can limit.
///
/// The raw value is the suffix of systemd's `Limit…` setting and of the kernel's `RLIMIT_…` constant.
public enum LimitedResource: String, Hashable, Sendable, CaseIterable {
    /// CPU time in seconds.
    case cpu = "CPU"
    /// Size of a file in bytes.
    case fileSize = "FSIZE"
    /// Size of the data segment in bytes.
    case data = "DATA"
    /// Size of the main thread's stack in bytes.
    case stack = "STACK"
    /// Size of a core dump in bytes.
    case core = "CORE"
    /// Resident memory in bytes; current kernels ignore it.
    case residentSet = "RSS"
    /// Open descriptors.
    case openFiles = "NOFILE"
    /// Size of the address space in bytes.
    case addressSpace = "AS"
    /// Processes and threads of the user.
    case processes = "NPROC"
    /// Locked memory in bytes.
    case lockedMemory = "MEMLOCK"
    /// File locks.
    case locks = "LOCKS"
    /// Queued signals.
    case pendingSignals = "SIGPENDING"
    /// Bytes in POSIX message queues.
    case messageQueues = "MSGQUEUE"
    /// The lowest nice value, as 20 − nice.
    case niceness = "NICE"
    /// The highest real-time priority.
    case realTimePriority = "RTPRIO"
    /// CPU time in microseconds that a real-time thread may use without sleeping.
    case realTimeWithoutSleep = "RTTIME"
}
