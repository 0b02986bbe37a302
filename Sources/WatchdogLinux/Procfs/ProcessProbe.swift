// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
public import WatchdogPolicy

/// The thread that runs a process's main loop, held so that what is read later is still of it.
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
    private let clock: clockid_t?
    private let directory: OwnedDescriptor
    /// Read with every ping, and kept open from the first on; whether it is there is known then.
    private lazy var schedstat = file("schedstat")

    /// Looks at a process whose id must not be reused meanwhile: an unreaped child's is not.
    ///
    /// - Parameter thread: the thread to look at; nil for the first, which is most programs' main thread.
    /// - Throws: ``LinuxError`` when there is no such thread.
    public init(_ pid: Int32, thread: Int32? = nil) throws(LinuxError) {
        clock = ProcessCPU.clock(of: pid)
        self.thread = thread ?? pid
        directory = try OwnedDescriptor(
            opening: "/proc/\(pid)/task/\(self.thread)", flags: wd_open_path | O_DIRECTORY)
    }

    private func file(_ name: String) -> OwnedDescriptor? {
        try? OwnedDescriptor(opening: name, in: directory, flags: O_RDONLY)
    }

    private func contents(_ name: String, limit: Int) -> [UInt8]? {
        file(name).flatMap { Procfs.readAll($0.number, limit: limit) }
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
        Usage(at: .now(), schedule: schedule, processCPUTime: clock.flatMap { ProcessCPU.reading(of: $0) } ?? .zero)
    }

    private var schedule: ThreadSchedule? {
        guard let schedstat else { return nil }
        return withUnsafeTemporaryAllocation(byteCount: 128, alignment: 1) { buffer in
            // Three numbers: one read gives all of them.
            let length = pread(schedstat.number, buffer.baseAddress, buffer.count, 0)
            return ThreadSchedule(parsing: UnsafeRawBufferPointer(rebasing: buffer.prefix(max(0, length))))
        }
    }

    /// Looks at the process; nil when it is gone.
    public func observe() -> Observation? {
        let now = Instant.now()
        guard let stat = contents("stat", limit: 4096).flatMap({ ProcessStat(parsing: $0) }),
            let status = contents("status", limit: 16 << 10).flatMap({ ProcessStatus(parsing: $0) })
        else { return nil }
        return Observation(
            at: now,
            state: stat.state,
            schedule: schedule,
            processCPUTime: clock.flatMap { ProcessCPU.reading(of: $0) } ?? .zero,
            tracer: status.tracer,
            isDumpingCore: status.isDumpingCore,
            waitChannel: contents("wchan", limit: 256).flatMap { WaitChannel.parse($0) },
            syscall: contents("syscall", limit: 512).flatMap { bytes in
                let line = bytes.prefix { $0 != UInt8(ascii: "\n") }
                return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
            }
        )
    }
}
