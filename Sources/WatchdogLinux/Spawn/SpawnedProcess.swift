// SPDX-License-Identifier: Apache-2.0

/// A process that has just been started.
public struct SpawnedProcess: Sendable {
    /// The process; owns the pidfd.
    public let process: Pidfd
    /// When it was born, in clock ticks since boot (`/proc/PID/stat` field 22); nil when `/proc` is not there.
    ///
    /// With the process id it identifies the process for ever on this boot.
    public let startTime: UInt64?
    /// Why the process is not in the cgroup that was asked for; nil when it is, or none was asked for.
    public let cgroupRefusal: Errno?
    /// Whether it moved to its cgroup because clone3(2) is refused here: that takes milliseconds.
    public let hasMoved: Bool

    /// Creates a started process from its parts.
    public init(process: Pidfd, startTime: UInt64?, cgroupRefusal: Errno? = nil, hasMoved: Bool = false) {
        self.process = process
        self.startTime = startTime
        self.cgroupRefusal = cgroupRefusal
        self.hasMoved = hasMoved
    }

    /// The process id.
    public var pid: Int32 { process.pid }
}
