// SPDX-License-Identifier: Apache-2.0

import CSnapshot
import Glibc
import WatchdogBase
import WatchdogVerdict

/// The parser of `wd_snapshot_format.h`.
///
/// Every length is checked against the remaining bytes, and every count against the format's limits. Records of unknown
/// kinds are skipped.
public struct SnapshotReader {
    private static let contextLimit = 1 << 16
    /// The maximum number of lines in a maps file.
    static let mappingLimit = 1 << 16

    private let bytes: [UInt8]
    private var offset = 0
    private var process: SnapshotProcess?
    private var mapsText: ArraySlice<UInt8>?
    private var threads: [SnapshotThread] = []
    private var stacks: [Int32: [SnapshotMemory]] = [:]
    private var outerStacks: [Int32: SnapshotMemory] = [:]
    private var vdso: SnapshotMemory?
    private var contexts: [SnapshotAsynchronousContext]?
    private var modules: [SnapshotModule] = []
    private var perfMap: Int?
    var interpreter: SnapshotInterpreter?
    var goroutines: SnapshotGoroutines?
    var java: SnapshotJava?
    var scripts: SnapshotScripts?

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Reads the snapshot in the file of `descriptor`, from its beginning.
    ///
    /// - Throws: ``SnapshotFormatError`` with any code.
    public static func read(descriptor: Int32) throws(SnapshotFormatError) -> SnapshotContents {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw SnapshotFormatError(code: .unreadable, subject: "descriptor \(descriptor)", offset: 0)
        }
        guard status.st_size >= 0, UInt64(status.st_size) <= WD_SNAPSHOT_MAX_BYTES else {
            throw SnapshotFormatError(code: .tooLarge, subject: "\(status.st_size) bytes", offset: 0)
        }
        let size = Int(status.st_size)
        let bytes = FileBytes.read(descriptor, at: 0, count: size)
        guard bytes.count == size else {
            throw SnapshotFormatError(code: .unreadable, subject: "byte \(bytes.count)", offset: bytes.count)
        }
        return try parse(bytes)
    }

    /// Parses an entire snapshot.
    ///
    /// - Throws: ``SnapshotFormatError`` with any code but `unreadable`.
    public static func parse(_ bytes: [UInt8]) throws(SnapshotFormatError) -> SnapshotContents {
        guard UInt64(bytes.count) <= WD_SNAPSHOT_MAX_BYTES else {
            throw SnapshotFormatError(code: .tooLarge, subject: "\(bytes.count) bytes", offset: 0)
        }
        var reader = SnapshotReader(bytes)
        return try reader.parse()
    }

    private mutating func parse() throws(SnapshotFormatError) -> SnapshotContents {
        guard let header = load(wd_snapshot_header.self, at: 0),
            header.magic == WD_SNAPSHOT_MAGIC, header.version == UInt32(WD_SNAPSHOT_VERSION)
        else { throw SnapshotFormatError(code: .notASnapshot, subject: "header", offset: 0) }
        offset = MemoryLayout<wd_snapshot_header>.size
        while offset < bytes.count {
            guard let record = load(wd_record.self, at: offset) else { throw error(.truncated, "record header") }
            let start = offset + MemoryLayout<wd_record>.size
            guard record.length <= UInt64(bytes.count - start) else { throw error(.truncated, "record") }
            let end = start + Int(record.length)
            try read(kind: record.kind, payload: bytes[start..<end])
            // The padding of the last record may be missing.
            offset = min((end + 7) & ~7, bytes.count)
        }
        return try finish()
    }

    private func finish() throws(SnapshotFormatError) -> SnapshotContents {
        guard let process else { throw error(.malformed, "no process record") }
        var threads = threads
        var (stacks, outerStacks) = (stacks, outerStacks)
        for index in threads.indices {
            let parts = stacks.removeValue(forKey: threads[index].id) ?? []
            threads[index].stack = parts.first
            threads[index].interruptedStack = parts.dropFirst().first
            threads[index].outerStack = outerStacks.removeValue(forKey: threads[index].id)
        }
        guard stacks.isEmpty, outerStacks.isEmpty else { throw error(.malformed, "stack of no thread") }
        threads.sort { ($0.id != process.id ? 1 : 0, $0.id) < ($1.id != process.id ? 1 : 0, $1.id) }
        for (earlier, later) in zip(threads, threads.dropFirst()) where earlier.id == later.id {
            throw error(.malformed, "two threads \(later.id)")
        }
        let text = mapsText ?? []
        guard let mappings = MapsParser.parse(text, limit: Self.mappingLimit) else { throw error(.malformed, "maps") }
        return SnapshotContents(
            process: process,
            mapsText: text,
            mappings: mappings,
            threads: threads,
            vdso: vdso,
            asynchronousContexts: (contexts ?? []).sorted { $0.address < $1.address },
            modules: modules.sorted { $0.start < $1.start },
            perfMap: perfMap,
            interpreter: interpreter,
            goroutines: goroutines,
            java: java,
            scripts: scripts
        )
    }

    // MARK: Records

    private mutating func read(kind: UInt32, payload: ArraySlice<UInt8>) throws(SnapshotFormatError) {
        switch wd_record_kind(kind) {
        case WD_RECORD_PROCESS:
            guard process == nil else { throw error(.tooMany, "process") }
            guard let parsed = SnapshotProcess(lines: payload) else { throw error(.malformed, "process") }
            process = parsed
        case WD_RECORD_MAPS:
            guard mapsText == nil else { throw error(.tooMany, "maps") }
            mapsText = payload
        case WD_RECORD_THREAD:
            guard threads.count < WD_SNAPSHOT_MAX_THREADS else { throw error(.tooMany, "thread") }
            threads.append(try thread(payload))
        case WD_RECORD_STACK:
            guard stacks.count <= WD_SNAPSHOT_MAX_THREADS else { throw error(.tooMany, "stack") }
            let (memory, owner) = try memory(payload, "stack")
            guard let thread = Int32(exactly: owner) else { throw error(.malformed, "stack's thread") }
            guard stacks[thread, default: []].count < 2 else { throw error(.tooMany, "stack of \(thread)") }
            stacks[thread, default: []].append(memory)
        case WD_RECORD_OUTER_STACK:
            guard outerStacks.count <= WD_SNAPSHOT_MAX_THREADS else { throw error(.tooMany, "outer stack") }
            let (memory, owner) = try memory(payload, "outer stack")
            guard let thread = Int32(exactly: owner) else { throw error(.malformed, "outer stack's thread") }
            guard outerStacks.updateValue(memory, forKey: thread) == nil else {
                throw error(.tooMany, "outer stack of \(thread)")
            }
        case WD_RECORD_VDSO:
            guard vdso == nil else { throw error(.tooMany, "vDSO") }
            vdso = try memory(payload, "vDSO").memory
        case WD_RECORD_ASYNC_CONTEXTS:
            guard contexts == nil else { throw error(.tooMany, "asynchronous contexts") }
            contexts = try asynchronousContexts(payload)
        case WD_RECORD_MODULE:
            guard modules.count < WD_SNAPSHOT_MAX_MODULES else { throw error(.tooMany, "module") }
            modules.append(try module(payload))
        case WD_RECORD_PERF_MAP:
            guard perfMap == nil else { throw error(.tooMany, "perf map") }
            guard let raw = load(wd_perf_map.self, in: payload) else { throw error(.truncated, "perf map") }
            guard raw.descriptor < WD_SNAPSHOT_MAX_MODULES else { throw error(.malformed, "perf map's descriptor") }
            perfMap = Int(raw.descriptor)
        case WD_RECORD_PYTHON, WD_RECORD_PYTHON_CODE, WD_RECORD_PYTHON_STACK:
            try read(interpreter: kind, payload)
        case WD_RECORD_GO, WD_RECORD_GOROUTINE:
            try read(goroutines: kind, payload)
        case WD_RECORD_JAVA, WD_RECORD_JAVA_METHOD, WD_RECORD_JAVA_STACK:
            try read(java: kind, payload)
        case WD_RECORD_V8, WD_RECORD_V8_FUNCTION, WD_RECORD_V8_STACK:
            try read(scripts: kind, payload)
        default:
            break
        }
    }

    private func thread(_ payload: ArraySlice<UInt8>) throws(SnapshotFormatError) -> SnapshotThread {
        guard let raw = load(wd_thread.self, in: payload) else { throw error(.truncated, "thread") }
        guard let source = SnapshotThread.RegisterSource(rawValue: raw.register_source), raw.tid > 0 else {
            throw error(.malformed, "thread")
        }
        return SnapshotThread(
            id: raw.tid,
            name: string(ofFixedArray: raw.name),
            state: raw.state > 0x20 && raw.state < 0x7F ? String(UnicodeScalar(raw.state)) : "?",
            registerSource: source,
            registers: withUnsafeBytes(of: raw.registers) { Array($0.bindMemory(to: UInt64.self)) },
            runNanoseconds: raw.run_ns,
            runDelayNanoseconds: raw.wait_ns,
            slices: raw.slices,
            voluntarySwitches: raw.voluntary_switches,
            involuntarySwitches: raw.involuntary_switches,
            userTicks: raw.user_ticks,
            systemTicks: raw.system_ticks,
            waitChannel: string(ofFixedArray: raw.wait_channel),
            systemCall: string(ofFixedArray: raw.syscall_text),
            kernelStack: string(ofFixedArray: raw.kernel_stack),
            stack: nil,
            interruptedStack: nil,
            outerStack: nil
        )
    }

    private func memory(
        _ payload: ArraySlice<UInt8>,
        _ subject: String
    ) throws(SnapshotFormatError) -> (memory: SnapshotMemory, owner: UInt64) {
        guard let range = load(wd_memory_range.self, in: payload) else { throw error(.truncated, subject) }
        let bytes = payload.dropFirst(MemoryLayout<wd_memory_range>.size)
        guard range.address <= UInt64.max - UInt64(bytes.count) else { throw error(.malformed, subject) }
        return (SnapshotMemory(address: range.address, bytes: bytes), range.owner)
    }

    private func asynchronousContexts(
        _ payload: ArraySlice<UInt8>
    ) throws(SnapshotFormatError) -> [SnapshotAsynchronousContext] {
        let size = MemoryLayout<wd_async_context>.size
        guard payload.count.isMultiple(of: size) else { throw error(.truncated, "asynchronous contexts") }
        guard payload.count / size <= Self.contextLimit else { throw error(.tooMany, "asynchronous contexts") }
        return stride(from: payload.startIndex, to: payload.endIndex, by: size).compactMap { start in
            load(wd_async_context.self, in: payload[start...]).map {
                SnapshotAsynchronousContext(address: $0.address, parent: $0.parent, resume: $0.resume)
            }
        }
    }

    private func module(_ payload: ArraySlice<UInt8>) throws(SnapshotFormatError) -> SnapshotModule {
        guard let raw = load(wd_module.self, in: payload) else { throw error(.truncated, "module") }
        let path = payload.dropFirst(MemoryLayout<wd_module>.size)
        guard path.count == raw.path_length else { throw error(.truncated, "module's path") }
        let descriptor = raw.descriptor == .max ? nil : Int(raw.descriptor)
        guard descriptor ?? 0 < WD_SNAPSHOT_MAX_MODULES else { throw error(.malformed, "module's descriptor") }
        return SnapshotModule(start: raw.start, descriptor: descriptor, path: String(decoding: path, as: UTF8.self))
    }

    // MARK: Bytes

    private func load<Value: BitwiseCopyable>(_ type: Value.Type, at start: Int) -> Value? {
        load(type, in: bytes[start...])
    }

    func load<Value: BitwiseCopyable>(_ type: Value.Type, in slice: ArraySlice<UInt8>) -> Value? {
        guard slice.count >= MemoryLayout<Value>.size else { return nil }
        return slice.withUnsafeBytes { $0.loadUnaligned(as: type) }
    }

    func error(_ code: SnapshotFormatError.Code, _ subject: String) -> SnapshotFormatError {
        SnapshotFormatError(code: code, subject: subject, offset: offset)
    }
}

extension SnapshotProcess {
    /// Parses "KEY=VALUE" lines; unknown keys are ignored.
    init?(lines: ArraySlice<UInt8>) {
        guard lines.count <= 1 << 16 else { return nil }
        var values: [String: String] = [:]
        for line in lines.split(separator: UInt8(ascii: "\n")) {
            guard let equals = line.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            let key = String(decoding: line[..<equals], as: UTF8.self)
            values[key] = String(decoding: line[line.index(after: equals)...], as: UTF8.self)
        }
        func number<Number: FixedWidthInteger>(_ key: String) -> Number? { values[key].flatMap { Number($0) } }
        guard let id: Int32 = number("PID"), id > 0,
            let method = values["METHOD"].flatMap(CapturedProcess.Method.init(rawValue:))
        else { return nil }
        self.init(
            id: id,
            startTime: number("START_TIME") ?? 0,
            user: number("UID") ?? 0,
            parent: number("PPID") ?? 0,
            name: values["COMM"] ?? "",
            executable: values["EXE"] ?? "",
            architecture: values["ARCH"] ?? "",
            capturedAt: Instant(nanoseconds: number("CAPTURED_AT") ?? 0),
            frozen: .nanoseconds(number("FROZEN_NS") ?? Int64(0)),
            method: method,
            methodReason: values["REASON"],
            tracer: number("TRACER_PID").flatMap { (pid: Int32) in pid > 0 ? pid : nil },
            truncation: values["TRUNCATED"]
        )
    }
}
