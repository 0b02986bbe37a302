// SPDX-License-Identifier: Apache-2.0

import CLinux

/// One resource limit of a process: getrlimit(2).
public struct ResourceLimit: Hashable, Sendable {
    /// A type of resource, named as in systemd's `Limit…=` settings.
    public struct Resource: RawRepresentable, Hashable, Sendable {
        /// The number of the `RLIMIT_…` constant.
        public let rawValue: Int32

        /// Creates a resource from the number of its `RLIMIT_…` constant.
        public init(rawValue: Int32) {
            self.rawValue = rawValue
        }
    }

    /// The value that means no limit: `RLIM_INFINITY`.
    public static let infinity = UInt64.max

    /// The limited resource.
    public var resource: Resource
    /// The value enforced.
    public var soft: UInt64
    /// The maximum to which the process may raise its soft limit.
    public var hard: UInt64

    /// Creates a limit.
    public init(_ resource: Resource, soft: UInt64, hard: UInt64) {
        self.resource = resource
        self.soft = soft
        self.hard = hard
    }

    /// The limit of the calling process.
    public static func current(_ resource: Resource) throws(LinuxError) -> ResourceLimit {
        var soft: UInt64 = 0
        var hard: UInt64 = 0
        _ = try check("read the limit on \(resource.name)") { wd_get_limit(resource.rawValue, &soft, &hard) }
        return ResourceLimit(resource, soft: soft, hard: hard)
    }

    /// Sets this limit for the calling process.
    public func apply() throws(LinuxError) {
        _ = try check("set the limit on \(resource.name)") { wd_set_limit(resource.rawValue, soft, hard) }
    }
}

extension ResourceLimit.Resource {
    /// CPU time, in seconds.
    public static let cpu = Self(rawValue: wd_limit_cpu)
    /// File size, in bytes.
    public static let fileSize = Self(rawValue: wd_limit_fsize)
    /// Size of the data segment, in bytes.
    public static let data = Self(rawValue: wd_limit_data)
    /// Size of the main thread's stack, in bytes.
    public static let stack = Self(rawValue: wd_limit_stack)
    /// Size of a core dump, in bytes.
    public static let core = Self(rawValue: wd_limit_core)
    /// Resident memory, in bytes; has no effect on current kernels.
    public static let residentSet = Self(rawValue: wd_limit_rss)
    /// Open descriptors.
    public static let openFiles = Self(rawValue: wd_limit_nofile)
    /// Size of the address space, in bytes.
    public static let addressSpace = Self(rawValue: wd_limit_as)
    /// Processes and threads of the user.
    public static let processes = Self(rawValue: wd_limit_nproc)
    /// Locked memory, in bytes.
    public static let lockedMemory = Self(rawValue: wd_limit_memlock)
    /// File locks.
    public static let locks = Self(rawValue: wd_limit_locks)
    /// Queued signals.
    public static let pendingSignals = Self(rawValue: wd_limit_sigpending)
    /// Bytes in POSIX message queues.
    public static let messageQueues = Self(rawValue: wd_limit_msgqueue)
    /// The lowest nice value, as 20 − nice.
    public static let niceness = Self(rawValue: wd_limit_nice)
    /// The highest real-time priority.
    public static let realTimePriority = Self(rawValue: wd_limit_rtprio)
    /// CPU time that a real-time thread may use without sleeping, in microseconds.
    public static let realTimeWithoutSleep = Self(rawValue: wd_limit_rttime)

    /// Every resource, with its name in systemd's settings (`LimitNOFILE=`).
    public static let named: [(name: String, resource: Self)] = [
        ("CPU", .cpu), ("FSIZE", .fileSize), ("DATA", .data), ("STACK", .stack), ("CORE", .core),
        ("RSS", .residentSet), ("NOFILE", .openFiles), ("AS", .addressSpace), ("NPROC", .processes),
        ("MEMLOCK", .lockedMemory), ("LOCKS", .locks), ("SIGPENDING", .pendingSignals),
        ("MSGQUEUE", .messageQueues), ("NICE", .niceness), ("RTPRIO", .realTimePriority),
        ("RTTIME", .realTimeWithoutSleep),
    ]

    /// The resource's name in systemd's settings, such as `NOFILE`.
    public var name: String {
        Self.named.first { $0.resource == self }?.name ?? "resource \(rawValue)"
    }
}
