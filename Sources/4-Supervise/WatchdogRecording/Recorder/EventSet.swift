// SPDX-License-Identifier: Apache-2.0

import CRecorder
import Glibc
import WatchdogLinux

/// The open events of a recording and their rings.
///
/// Isolation: belongs to one thread.
final class EventSet {
    /// One ring for each CPU, and one for the main thread's breakpoints and samples.
    private var rings: [(descriptor: Int32, ring: wd_record_ring)] = []
    private var descriptors: [Int32] = []
    private var expensive: [Int32] = []
    private var breakpoints: [Int32] = []
    private var taskRing: Int32 = -1
    private(set) var streams: [UInt64: RecordStream] = [:]
    private(set) var layouts = TracepointLayouts()
    private(set) var samplingInterval: Duration = .zero
    private(set) var records: [UInt8] = []
    /// Whether records were dropped because there were too many.
    private(set) var isFull = false

    /// The maximum size of all records of a recording in bytes; decoding them takes several times as much.
    private static let recordLimit = 96 << 20
    /// The time between two samples of the main thread.
    private static let interval = Duration.milliseconds(1)

    /// - Parameters:
    ///   - process: the held child.
    ///   - isWide: whether the scheduler's events of all CPUs are recorded: rung A.
    init(process: Int32, isWide: Bool) throws(LinuxError) {
        do throws(LinuxError) {
            try open(process, isWide: isWide)
        } catch {
            close()
            throw error
        }
    }

    deinit { close() }

    /// The descriptors that become readable when a ring fills.
    var readable: [Int32] { rings.map(\.descriptor) }

    private func open(_ process: Int32, isWide: Bool) throws(LinuxError) {
        let tracefs = isWide ? try TraceFS() : nil
        if let tracefs { layouts = try tracefs.layouts() }
        for processor in 0..<Int32(clamping: sysconf(Int32(_SC_NPROCESSORS_CONF))) {
            let base: Int32
            do throws(LinuxError) {
                base = try add(
                    .task, WD_RECORD_TASK, process: process, processor: processor, excludesKernel: !isWide,
                    inherits: true)
            } catch {
                // ENODEV: the CPU is offline.
                guard error.errno.rawValue == ENODEV else { throw error }
                continue
            }
            try map(base)
            guard isWide else { continue }
            // CPU-wide: per-task events include neither wakers outside the program nor the tasks that preempt it.
            try addTracepoint(layouts.schedulerSwitch, .schedulerSwitch, -1, processor, to: base)
            try addTracepoint(layouts.schedulerWaking, .schedulerWaking, -1, processor, to: base)
            try? addTracepoint(layouts.systemCall, .systemCall, process, processor, to: base)
        }
        // Start-up runs on one thread, so its events need no inheritance and share one ring.
        taskRing = try add(.task, WD_RECORD_NOTHING, process: process, processor: -1, excludesKernel: !isWide)
        try map(taskRing)
        let nanoseconds = UInt64(Self.interval / .nanoseconds(1))
        if let clock = try? add(
            .clock, WD_RECORD_CLOCK, nanoseconds, process: process, processor: -1, excludesKernel: !isWide)
        {
            wd_record_event_redirect(clock, taskRing)
            samplingInterval = Self.interval
        }
    }

    @discardableResult
    private func add(
        _ stream: RecordStream, _ kind: wd_record_event_kind, _ value: UInt64 = 0, process: Int32, processor: Int32,
        excludesKernel: Bool, inherits: Bool = false, isEnabled: Bool = false
    ) throws(LinuxError) -> Int32 {
        let event = wd_record_event(
            kind: kind, value: value, excludes_kernel: excludesKernel, inherits: inherits, is_enabled: isEnabled)
        let (descriptor, id) = try event.open(process, processor: processor)
        streams[id] = stream
        descriptors.append(descriptor)
        return descriptor
    }

    private func addTracepoint(
        _ layout: TracepointLayout?, _ stream: RecordStream, _ process: Int32, _ processor: Int32, to ring: Int32
    ) throws(LinuxError) {
        guard let layout else { throw LinuxError("find the tracepoint of \(stream)", .noSuchFile) }
        let event = try add(
            stream, WD_RECORD_TRACEPOINT, layout.id, process: process, processor: processor, excludesKernel: false,
            inherits: process > 0, isEnabled: process < 0)
        expensive.append(event)
        guard wd_record_event_redirect(event, ring) == 0 else {
            throw LinuxError("share a ring", Errno(rawValue: errno))
        }
    }

    /// Maps the largest ring that the kernel allows.
    ///
    /// An ordinary user's rings must fit into perf_event_mlock_kb. Root's rings are large enough for a program that
    /// mostly makes system calls, while the recorder waits a few hundred milliseconds for a CPU.
    private func map(_ event: Int32) throws(LinuxError) {
        var ring = wd_record_ring()
        let isFew = sysconf(Int32(_SC_NPROCESSORS_CONF)) <= 16
        var bytes = geteuid() != 0 ? 256 << 10 : isFew ? 8 << 20 : 1 << 20
        while wd_record_ring_map(event, bytes, &ring) != 0 {
            let error = Errno(rawValue: errno)
            guard error == .notPermitted || error.rawValue == ENOMEM, bytes > 32 << 10 else {
                throw LinuxError(PerfRefusal.mapping, error)
            }
            bytes /= 2
        }
        rings.append((event, ring))
    }

    /// Arms a breakpoint at an address of the stopped process, until it has been hit; false if the kernel refuses.
    func addBreakpoint(_ boundary: LaunchBoundary, program: Int, at address: UInt64, process: Int32) -> Bool {
        guard
            let event = try? add(
                .boundary(boundary, program: program), WD_RECORD_BREAKPOINT, address, process: process, processor: -1,
                excludesKernel: true)
        else { return false }
        breakpoints.append(event)
        // glibc's dynamic linker passes its place twice: before it maps the first library, and after the relocation.
        return wd_record_event_redirect(event, taskRing) == 0
            && wd_record_event_arm(event, boundary == .debugState ? 2 : 1) == 0
    }

    /// Adds a uprobe event at a constructor of the stopped process.
    ///
    /// - Parameters:
    ///   - index: its number in ``LaunchLog/probes``.
    ///   - type: the number of the kernel's uprobe events.
    ///   - path: the file with its code.
    ///   - offset: the offset of its first instruction in the file.
    func addProbe(_ index: Int, type: UInt32, in path: String, at offset: UInt64, process: Int32) throws(LinuxError) {
        var id: UInt64 = 0
        let event = wd_record_uprobe_open(type, path, offset, process, &id)
        guard event >= 0 else { throw LinuxError("set a uprobe", Errno(rawValue: errno)) }
        descriptors.append(event)
        expensive.append(event)
        guard wd_record_event_redirect(event, taskRing) == 0 else {
            throw LinuxError("share a ring", Errno(rawValue: errno))
        }
        streams[id] = .constructor(index)
    }

    /// Removes the breakpoints of a program that another one has replaced.
    func removeBreakpoints() {
        for event in breakpoints {
            Glibc.close(event)
            descriptors.removeAll { $0 == event }
        }
        breakpoints = []
    }

    /// Collects the records in the rings.
    func drain() {
        for (_, ring) in rings {
            guard records.count + ring.bytes <= Self.recordLimit else {
                isFull = true
                return
            }
            withUnsafeTemporaryAllocation(byteCount: ring.bytes, alignment: 8) { buffer in
                var ring = ring
                let length = wd_record_ring_take(&ring, buffer.baseAddress)
                records.append(contentsOf: buffer.prefix(length))
            }
        }
    }

    /// The time limit of waiting, at the end of this process, for closes that the kernel delays.
    private static let closingLimit = Duration.seconds(60)

    /// Stops recording; a child closes the tracepoints, because that is slow, and is reaped afterward.
    func close() {
        for event in descriptors { wd_record_event_disable(event) }
        for (_, ring) in rings {
            var ring = ring
            wd_record_ring_unmap(&ring)
        }
        if expensive.isEmpty {
            for event in descriptors { Glibc.close(event) }
        } else {
            var pid: pid_t = 0
            let child = wd_record_close_elsewhere(descriptors, descriptors.count, &pid)
            if child >= 0 {
                Pidfd(pid: pid, descriptor: OwnedDescriptor(taking: child))
                    .reapWhenItExits(waitingAtExit: Self.closingLimit)
            }
        }
        (rings, descriptors, expensive, breakpoints) = ([], [], [], [])
    }
}

extension wd_record_event {
    /// Opens the event of a process, on one CPU or on all; the caller owns the descriptor.
    func open(_ process: Int32, processor: Int32 = -1) throws(LinuxError) -> (number: Int32, id: UInt64) {
        var (event, id) = (self, UInt64(0))
        let number = wd_record_event_open(&event, process, processor, &id)
        guard number >= 0 else { throw LinuxError(PerfRefusal.opening, Errno(rawValue: errno)) }
        return (number, id)
    }
}

/// The kernel's tracefs, with its tracepoints.
struct TraceFS {
    private let root: OwnedDescriptor

    init() throws(LinuxError) {
        let number = wd_record_tracefs()
        guard number >= 0 else { throw LinuxError("mount tracefs", Errno(rawValue: errno)) }
        root = OwnedDescriptor(taking: number)
    }

    func layouts() throws(LinuxError) -> TracepointLayouts {
        let scheduled = try layout("sched/sched_switch")
        let waking = try layout("sched/sched_waking")
        guard let scheduled, scheduled.has("prev_pid", "prev_state", "next_pid"), let waking,
            waking.has("pid", "common_flags")
        else { throw LinuxError("understand the scheduler's tracepoints", .noSuchFile) }
        return TracepointLayouts(
            schedulerSwitch: scheduled, schedulerWaking: waking, systemCall: try? layout("raw_syscalls/sys_enter"))
    }

    private func layout(_ name: String) throws(LinuxError) -> TracepointLayout? {
        let file = try OwnedDescriptor(opening: "events/\(name)/format", in: root, flags: O_RDONLY)
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        let count = read(file.number, &bytes, bytes.count)
        return TracepointLayout(format: String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self))
    }
}
