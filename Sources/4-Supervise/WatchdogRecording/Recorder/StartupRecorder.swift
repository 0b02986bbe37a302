// SPDX-License-Identifier: Apache-2.0

import CRecorder
import Glibc
public import WatchdogLinux

/// Records how a supervised program starts, without ever stopping it.
///
/// The kernel records the mappings and context switches of the process's first thread. Breakpoints in two debug
/// registers record the times of the program's entry and of `main`; they are set while the dynamic linker runs.
///
/// Isolation: belongs to one thread, and never blocks.
public final class StartupRecorder {
    /// The size of the ring.
    ///
    /// An unprivileged user's rings of all launches share perf_event_mlock_kb, 516 KiB for each CPU.
    private static let ringBytes = 64 << 10
    /// The maximum number of bytes of records; a launch that produces more is not followed to its end.
    private static let byteLimit = 8 << 20

    /// Becomes readable when the ring fills, and hangs up when the process has ended.
    public let descriptor: OwnedDescriptor
    private let ring: wd_record_ring
    private let breakpoints: StartupBreakpoints
    private var log: StartupLog
    private var bytes = 0

    /// Opens the events of a process that waits to be released; they begin when it executes its program.
    ///
    /// - Parameters:
    ///   - process: the process.
    ///   - copying: reads its memory; nil if the thread that calls ``setting`` may block forever.
    public init(_ process: HeldProcess, by copying: Copying? = nil) throws(LinuxError) {
        let event = wd_record_event(
            kind: WD_RECORD_TASK, value: 0, excludes_kernel: true, inherits: false, is_enabled: false)
        let number = try event.open(process.pid).number
        descriptor = OwnedDescriptor(taking: number)
        var ring = wd_record_ring()
        guard wd_record_ring_map(number, Self.ringBytes, &ring) == 0 else {
            throw LinuxError(PerfRefusal.mapping, Errno(rawValue: errno))
        }
        self.ring = ring
        log = StartupLog(process: process.pid)
        breakpoints = StartupBreakpoints(process, by: copying, ring: descriptor)
    }

    deinit {
        breakpoints.remove()
        var ring = ring
        wd_record_ring_unmap(&ring)
    }

    /// Sets the breakpoints as soon as the process has executed its program.
    ///
    /// Call it on a thread that may block.
    public var setting: @Sendable () -> Void { { [breakpoints] in breakpoints.set() } }

    /// Whether the process has ended, or the recording has stopped.
    public var isOver: Bool {
        guard bytes < Self.byteLimit else { return true }
        var entry = pollfd(fd: descriptor.number, events: 0, revents: 0)
        return poll(&entry, 1, 0) == 1
    }

    /// Reads the new records, and returns the log so far.
    public func read() -> StartupLog {
        // Read these first: a breakpoint can produce a record as soon as it is set.
        let (watch, boundaries) = breakpoints.watch
        let records = [UInt8](unsafeUninitializedCapacity: ring.bytes) { buffer, count in
            var ring = ring
            count = wd_record_ring_take(&ring, buffer.baseAddress)
        }
        if let watch { log.note(watch) }
        log.take(records, boundaries: boundaries)
        if log.hasReachedMain { breakpoints.remove() }
        bytes += records.count
        if bytes >= Self.byteLimit {
            wd_record_event_disable(descriptor.number)
            log.cut()
        }
        return log
    }
}
