// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
public import WatchdogBase

/// Reads the thread that runs a process's main loop, by its IDs, which must not be reused meanwhile.
///
/// The IDs of an unreaped child are not reused, nor are those of another process while its pidfd does not report its
/// exit.
public struct ProcessProbe: Sendable {
    /// What a process and its main thread were doing at one instant.
    public struct Observation: Hashable, Sendable {
        /// When it was observed.
        public let at: Instant
        /// The main thread's state.
        public let state: ProcessStat.State
        /// The main thread's scheduler statistics; nil if the kernel does not record them.
        public let schedule: ThreadSchedule?
        /// The CPU time of all threads, including those that have ended, to the nanosecond.
        public let processCPUTime: Duration
        /// The process that traces this one; nil if none does.
        public let tracer: Int32?
        /// Whether the kernel is writing a core dump of the process.
        public let isDumpingCore: Bool
        /// The kernel function in which the main thread waits; nil if it does not wait or the name is hidden.
        public let waitChannel: String?
        /// The main thread's `/proc/PID/syscall`, verbatim; nil if it may not be read.
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

    /// The observed thread.
    public let thread: Int32
    private let clock: clockid_t?
    private let pid: Int32
    /// Made each time: there are many probes, which are rarely read.
    private var directory: String { "/proc/\(pid)/task/\(thread)" }

    /// Finds a thread of a process.
    ///
    /// - Parameter thread: the thread to observe; nil for the first one, which is the main thread of most programs.
    /// - Throws: ``LinuxError`` if there is no such thread.
    public init(_ pid: Int32, thread: Int32? = nil) throws(LinuxError) {
        clock = ProcessCPU.clock(of: pid)
        self.thread = thread ?? pid
        self.pid = pid
        let directory = directory
        _ = try check("find \(directory)") { access(directory, F_OK) }
    }

    private func contents(_ name: String, limit: Int) -> [UInt8]? {
        Procfs.read("\(directory)/\(name)", limit: limit)
    }

    /// The CPU time that a process and its main thread had used at one instant.
    public struct Usage: Hashable, Sendable {
        /// When it was read.
        public let at: Instant
        /// The main thread's scheduler statistics; nil if the kernel does not record them.
        public let schedule: ThreadSchedule?
        /// The CPU time of all threads, including those that have ended, to the nanosecond.
        public let processCPUTime: Duration

        /// Creates a usage from its parts.
        public init(at: Instant, schedule: ThreadSchedule?, processCPUTime: Duration) {
            self.at = at
            self.schedule = schedule
            self.processCPUTime = processCPUTime
        }

        /// What a process has used that was just started.
        public static func none(at instant: Instant) -> Usage {
            Usage(
                at: instant, schedule: ThreadSchedule(runTime: .zero, runDelay: .zero, timeslices: 0),
                processCPUTime: .zero)
        }
    }

    /// Reads only the CPU usage of the process.
    public func usage() -> Usage {
        Usage(at: .now(), schedule: schedule, processCPUTime: clock.flatMap { ProcessCPU.reading(of: $0) } ?? .zero)
    }

    private var syscall: String? {
        contents("syscall", limit: 512).flatMap { bytes in
            let line = bytes.prefix { $0 != UInt8(ascii: "\n") }
            return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
        }
    }

    private var schedule: ThreadSchedule? {
        contents("schedstat", limit: 128).flatMap { ThreadSchedule(parsing: $0) }
    }

    /// Observes the process; nil if it is gone.
    ///
    /// - Parameter readsSyscall: whether to read ``Observation/syscall``. For that the kernel takes the process's
    ///   `exec_update_lock`, which a process that executes a program can hold indefinitely.
    public func observe(readsSyscall: Bool = true) -> Observation? {
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
            syscall: readsSyscall ? syscall : nil
        )
    }
}
