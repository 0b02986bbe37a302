// SPDX-License-Identifier: Apache-2.0

import Glibc
public import WatchdogPolicy

/// Files of the thread that runs a process's main loop, opened once and read again and again while an incident lasts.
///
/// Isolation: belongs to one thread.
public final class ProcessProbe {
    /// What a process and its main thread were doing at one instant.
    public struct Observation: Hashable, Sendable {
        /// When it was looked at.
        public let at: Instant
        /// The main thread's state.
        public let state: ProcessStat.State
        /// The main thread's dealings with the scheduler; nil when the kernel does not count them.
        public let schedule: ThreadSchedule?
        /// CPU time of all threads, ended ones included, to the nanosecond.
        public let processCPUTime: Duration
        /// The process that traces this one; nil for none.
        public let tracer: Int32?
        /// Whether the kernel is writing its core.
        public let isDumpingCore: Bool
        /// The kernel function in which the main thread waits; nil when it does not wait or that is hidden.
        public let waitChannel: String?
        /// The main thread's `/proc/PID/syscall`, verbatim; nil when it may not be read.
        public let syscall: String?

        /// Creates an observation from its parts.
        public init(
            at: Instant,
            state: ProcessStat.State,
            schedule: ThreadSchedule?,
            processCPUTime: Duration,
            tracer: Int32?,
            isDumpingCore: Bool = false,
            waitChannel: String?,
            syscall: String?
        ) {
            self.at = at
            self.state = state
            self.schedule = schedule
            self.processCPUTime = processCPUTime
            self.tracer = tracer
            self.isDumpingCore = isDumpingCore
            self.waitChannel = waitChannel
            self.syscall = syscall
        }
    }

    /// The thread that is looked at.
    public let thread: Int32
    private let pid: Int32
    private let stat: OwnedDescriptor
    private let schedstat: OwnedDescriptor?
    private let status: OwnedDescriptor
    private let wchan: OwnedDescriptor?
    private let syscall: OwnedDescriptor?

    /// Opens the files of a process, whose id must not be reused meanwhile: an unreaped child's is not.
    ///
    /// - Parameter thread: the thread to look at; nil for the first, which is most programs' main thread.
    public init(_ pid: Int32, thread: Int32? = nil) throws(LinuxError) {
        self.pid = pid
        self.thread = thread ?? pid
        let thread = "/proc/\(pid)/task/\(self.thread)"
        stat = try OwnedDescriptor(opening: "\(thread)/stat", flags: O_RDONLY)
        status = try OwnedDescriptor(opening: "\(thread)/status", flags: O_RDONLY)
        schedstat = try? OwnedDescriptor(opening: "\(thread)/schedstat", flags: O_RDONLY)
        wchan = try? OwnedDescriptor(opening: "\(thread)/wchan", flags: O_RDONLY)
        syscall = try? OwnedDescriptor(opening: "\(thread)/syscall", flags: O_RDONLY)
    }

    /// What a process and its main thread had used at one instant.
    public struct Usage: Hashable, Sendable {
        /// When it was read.
        public let at: Instant
        /// The main thread's dealings with the scheduler; nil when the kernel does not count them.
        public let schedule: ThreadSchedule?
        /// CPU time of all threads, ended ones included, to the nanosecond.
        public let processCPUTime: Duration

        /// Creates a usage from its parts.
        public init(at: Instant, schedule: ThreadSchedule?, processCPUTime: Duration) {
            self.at = at
            self.schedule = schedule
            self.processCPUTime = processCPUTime
        }
    }

    /// Reads only what the process has used: cheap enough for every ping.
    public func usage() -> Usage {
        Usage(at: .now(), schedule: schedule, processCPUTime: ProcessCPU.time(pid) ?? .zero)
    }

    private var schedule: ThreadSchedule? {
        schedstat.flatMap { Procfs.readAll($0.number, limit: 256) }.flatMap { ThreadSchedule(parsing: $0) }
    }

    /// Looks at the process; nil when it is gone.
    public func observe() -> Observation? {
        let now = Instant.now()
        guard let stat = Procfs.readAll(stat.number, limit: 4096).flatMap({ ProcessStat(parsing: $0) }),
            let status = Procfs.readAll(status.number, limit: 16 << 10).flatMap({ ProcessStatus(parsing: $0) })
        else { return nil }
        return Observation(
            at: now,
            state: stat.state,
            schedule: schedule,
            processCPUTime: ProcessCPU.time(pid) ?? .zero,
            tracer: status.tracer,
            isDumpingCore: status.isDumpingCore,
            waitChannel: wchan.flatMap { Procfs.readAll($0.number, limit: 256) }.flatMap { WaitChannel.parse($0) },
            syscall: syscall.flatMap { Procfs.readAll($0.number, limit: 512) }.flatMap { bytes in
                let line = bytes.prefix { $0 != UInt8(ascii: "\n") }
                return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
            }
        )
    }
}
