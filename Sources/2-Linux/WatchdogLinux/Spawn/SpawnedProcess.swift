// SPDX-License-Identifier: Apache-2.0

/// A process that has just been started.
public struct SpawnedProcess: Sendable {
    /// The process; owns the pidfd.
    public let process: Pidfd
    /// When the process was created, in clock ticks since boot (`/proc/PID/stat` field 22); nil without `/proc`.
    ///
    /// Together with the process ID, it identifies the process uniquely on this boot.
    public let startTime: UInt64?
    /// Why the process is not in the requested cgroup; nil when it is, or when none was requested.
    public let cgroupRefusal: Errno?
    /// Whether the process was moved to its cgroup because clone3(2) is refused here; moving takes milliseconds.
    public let hasMoved: Bool

    /// Creates a started process from its parts.
    public init(process: Pidfd, startTime: UInt64?, cgroupRefusal: Errno? = nil, hasMoved: Bool = false) {
        self.process = process
        self.startTime = startTime
        self.cgroupRefusal = cgroupRefusal
        self.hasMoved = hasMoved
    }

    /// The process ID.
    public var pid: Int32 { process.pid }
}
