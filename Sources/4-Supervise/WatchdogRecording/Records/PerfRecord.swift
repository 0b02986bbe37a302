// SPDX-License-Identifier: Apache-2.0

/// One record of the kernel: perf_event_open(2), "MMAP layout".
struct PerfRecord {
    enum Body {
        case name(String, isExec: Bool)
        case mapping(ObjectMapping)
        case created(process: Int32, thread: Int32, parent: Int32)
        case exit(thread: Int32)
        /// The thread got its CPU (`isOut` is false), or lost it.
        case contextSwitch(isOut: Bool, isPreempted: Bool)
        case lost(Int)
        case boundary(LaunchBoundary, program: Int)
        /// A constructor began: the index of its probe.
        case constructor(Int)
        case sample(stack: [UInt64])
        case scheduled(SchedulerSwitch)
        case waking(thread: Int32, isByInterrupt: Bool)
        case systemCall(Int)
    }

    struct ObjectMapping {
        var address: UInt64
        var length: UInt64
        /// The offset in the file, in bytes.
        var offset: UInt64
        /// 0 without a file.
        var inode: UInt64
        var protection: UInt32
        var path: String

        /// PROT_READ, PROT_WRITE, PROT_EXEC: mmap(2).
        var isReadOnly: Bool { protection & 7 == 1 }
        var isWritable: Bool { protection & 2 != 0 }
        var isExecutable: Bool { protection & 4 != 0 }
    }

    struct SchedulerSwitch {
        var previousThread: Int32
        var previousState: Int64
        var nextThread: Int32
        var nextName: String
        var nextPriority: Int
    }

    /// Nanoseconds of `CLOCK_MONOTONIC`.
    var time: Int64
    var process: Int32
    var thread: Int32
    var processor: Int
    var body: Body
}

/// Reads the records of a recording, in the order of the rings.
struct PerfRecordReader: Sequence, IteratorProtocol {
    /// linux/perf_event.h, enum perf_event_type.
    private enum Kind {
        static let lost: UInt32 = 2
        static let name: UInt32 = 3
        static let exit: UInt32 = 4
        static let fork: UInt32 = 7
        static let sample: UInt32 = 9
        static let mapping: UInt32 = 10
        static let lostSamples: UInt32 = 13
        static let contextSwitch: UInt32 = 14
    }

    private let bytes: [UInt8]
    private let streams: [UInt64: RecordStream]
    private let layouts: TracepointLayouts
    private var offset = 0

    init(_ bytes: [UInt8], streams: [UInt64: RecordStream], layouts: TracepointLayouts) {
        self.bytes = bytes
        self.streams = streams
        self.layouts = layouts
    }

    mutating func next() -> PerfRecord? {
        while offset + 8 <= bytes.count {
            let header = ByteWindow(bytes, offset..<(offset + 8))
            let kind: UInt32 = header.integer(at: 0) ?? 0
            let flags: UInt16 = header.integer(at: 4) ?? 0
            let size = Int(header.integer(at: 6, as: UInt16.self) ?? 0)
            guard size >= 8, offset + size <= bytes.count else { break }
            let payload = ByteWindow(bytes, (offset + 8)..<(offset + size))
            offset += size
            if let record = record(kind, flags, payload) { return record }
        }
        return nil
    }

    private func record(_ kind: UInt32, _ flags: UInt16, _ payload: ByteWindow) -> PerfRecord? {
        if kind == Kind.sample { return sample(payload) }
        // TID, TIME, CPU, IDENTIFIER: sample_id_all.
        let trailer = payload.dropFirst(payload.count - 32)
        guard payload.count >= 32, let process: Int32 = trailer.integer(at: 0),
            let thread: Int32 = trailer.integer(at: 4), let time: Int64 = trailer.integer(at: 8), time >= 0,
            let processor: UInt32 = trailer.integer(at: 16),
            let body = body(kind, flags, payload.prefix(payload.count - 32))
        else { return nil }
        return PerfRecord(time: time, process: process, thread: thread, processor: Int(processor), body: body)
    }

    private func body(_ kind: UInt32, _ flags: UInt16, _ payload: ByteWindow) -> PerfRecord.Body? {
        switch kind {
        case Kind.lost: return .lost(Int(clamping: payload.integer(at: 8, as: UInt64.self) ?? 0))
        case Kind.lostSamples: return .lost(Int(clamping: payload.integer(at: 0, as: UInt64.self) ?? 0))
        case Kind.name: return payload.text(at: 8, limit: 64).map { .name($0, isExec: flags & 1 << 13 != 0) }
        case Kind.exit: return payload.integer(at: 8).map { .exit(thread: $0) }
        case Kind.fork:
            guard let process: Int32 = payload.integer(at: 0), let thread: Int32 = payload.integer(at: 8),
                let parent: Int32 = payload.integer(at: 12)
            else { return nil }
            return .created(process: process, thread: thread, parent: parent)
        case Kind.contextSwitch:
            return .contextSwitch(isOut: flags & 1 << 13 != 0, isPreempted: flags & 1 << 14 != 0)
        case Kind.mapping:
            // pid, tid, addr, len, pgoff, maj, min, ino, ino_generation, prot, flags, filename.
            guard let address: UInt64 = payload.integer(at: 8), let length: UInt64 = payload.integer(at: 16),
                let offset: UInt64 = payload.integer(at: 24), let inode: UInt64 = payload.integer(at: 40),
                let protection: UInt32 = payload.integer(at: 56), let path = payload.text(at: 64, limit: 4096)
            else { return nil }
            return .mapping(
                .init(
                    address: address, length: length, offset: offset, inode: inode, protection: protection, path: path))
        default: return nil
        }
    }

    private func sample(_ payload: ByteWindow) -> PerfRecord? {
        guard let id: UInt64 = payload.integer(at: 0), let stream = streams[id] else { return nil }
        // IDENTIFIER, [IP], TID, TIME, CPU, [CALLCHAIN], [RAW].
        let isClock = stream == .clock
        let rest = payload.dropFirst(isClock ? 16 : 8)
        guard let process: Int32 = rest.integer(at: 0), let thread: Int32 = rest.integer(at: 4),
            let time: Int64 = rest.integer(at: 8), time >= 0, let processor: UInt32 = rest.integer(at: 16),
            let body = body(of: stream, rest.dropFirst(24))
        else { return nil }
        return PerfRecord(time: time, process: process, thread: thread, processor: Int(processor), body: body)
    }

    private func body(of stream: RecordStream, _ rest: ByteWindow) -> PerfRecord.Body? {
        switch stream {
        case .task: return nil
        case .boundary(let boundary, let program): return .boundary(boundary, program: program)
        case .constructor(let probe): return .constructor(probe)
        case .clock: return .sample(stack: stack(rest))
        case .schedulerSwitch, .schedulerWaking, .systemCall:
            guard let length: UInt32 = rest.integer(at: 0) else { return nil }
            return tracepoint(stream, rest.dropFirst(4).prefix(Int(length)))
        }
    }

    private func stack(_ rest: ByteWindow) -> [UInt64] {
        let count = Swift.min(Int(clamping: rest.integer(at: 0, as: UInt64.self) ?? 0), 128)
        // Skip markers such as PERF_CONTEXT_USER, which are the highest addresses.
        return (0..<count).compactMap { rest.integer(at: 8 + $0 * 8, as: UInt64.self) }.filter { $0 < 1 << 63 }
    }

    private func tracepoint(_ stream: RecordStream, _ raw: ByteWindow) -> PerfRecord.Body? {
        switch stream {
        case .schedulerSwitch:
            guard let layout = layouts.schedulerSwitch, let previous = layout.integer("prev_pid", in: raw),
                let state = layout.integer("prev_state", in: raw), let next = layout.integer("next_pid", in: raw)
            else { return nil }
            return .scheduled(
                .init(
                    previousThread: Int32(truncatingIfNeeded: previous), previousState: state,
                    nextThread: Int32(truncatingIfNeeded: next), nextName: layout.text("next_comm", in: raw) ?? "",
                    nextPriority: Int(layout.integer("next_prio", in: raw) ?? 120)))
        case .schedulerWaking:
            guard let layout = layouts.schedulerWaking, let thread = layout.integer("pid", in: raw),
                let flags = layout.integer("common_flags", in: raw)
            else { return nil }
            // TRACE_FLAG_HARDIRQ, TRACE_FLAG_SOFTIRQ: the interrupted thread is not the waker.
            return .waking(thread: Int32(truncatingIfNeeded: thread), isByInterrupt: flags & 0x18 != 0)
        case .systemCall:
            return layouts.systemCall?.integer("id", in: raw).map { .systemCall(Int($0)) }
        case .task, .clock, .boundary, .constructor: return nil
        }
    }
}
