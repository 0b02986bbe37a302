// SPDX-License-Identifier: Apache-2.0

import CSnapshot
import Glibc
public import WatchdogBase
import WatchdogLinux
public import WatchdogReport
import WatchdogVerdict

/// The contents of a core file of a process killed by a signal.
public struct CoreContents: Sendable {
    /// The stacks, in the input format of ``Symbolicator``.
    public let snapshot: Snapshot
    /// The cause of the signal, if the core has it.
    public let signal: SignalInfo?
    /// The thread that received the signal.
    public let thread: Int32

    /// Reads a core file.
    ///
    /// - Parameters:
    ///   - descriptor: the file, which the caller continues to own.
    ///   - process: the process that the core must be of.
    ///   - deadline: when to give up reading the file.
    public init(reading descriptor: Int32, of process: Int32, until deadline: Instant) throws(CoreError) {
        try self.init(reading: descriptor, of: process) { Instant.now() >= deadline }
    }

    init(reading descriptor: Int32, of process: Int32, isLate: @escaping () -> Bool) throws(CoreError) {
        let file = try CoreFile(descriptor: descriptor, isLate: isLate)
        guard let subject = file.process, subject.id == process, let first = file.threads.first else {
            throw CoreError("it is of another process")
        }
        signal = file.signal
        thread = first.id
        snapshot = try CoreRecords(file, subject).snapshot()
    }
}

/// The reason why a core file cannot be used.
public struct CoreError: Error, Equatable, CustomStringConvertible {
    /// The emphasized part of "the core file /srv/core is of no use: *it is not a core file*".
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Converts a core file to the records in `wd_snapshot_format.h`.
private struct CoreRecords {
    private static let stackBytes = 256 << 10
    private static let crowdStackBytes = 64 << 10
    private static let outerBytes: UInt64 = 32 << 10
    private static let crowd = 200
    private static let allStackBytes = 32 << 20
    private static let vdsoBytes = 64 << 10
    private static let mapsBytes = 8 << 20
    private static let redZone: UInt64 = 128
    private static let pageBytes = 4096
    /// The maximum number of files to check, whether or not they are passed on.
    private static let fileLimit = 2 * Int(WD_SNAPSHOT_MAX_MODULES)

    private let core: CoreFile
    private let subject: (id: Int32, parent: Int32, user: UInt32, name: String)
    private var bytes: [UInt8] = []
    private var descriptors: [OwnedDescriptor] = []
    private var files: [[UInt8]: File] = [:]
    private var remarks: [String] = []
    private var tries = 0

    /// A mapped file in its current state.
    private struct File {
        let identity: (major: UInt32, minor: UInt32, inode: UInt64)
        /// The index among the descriptors passed on.
        let descriptor: Int?
    }

    init(_ core: CoreFile, _ subject: (id: Int32, parent: Int32, user: UInt32, name: String)) {
        self.core = core
        self.subject = subject
    }

    consuming func snapshot() throws(CoreError) -> Snapshot {
        if core.isCutOff { remarks.append("the core file is cut off") }
        if core.leftOutThreads > 0 { remarks.append("\(core.leftOutThreads) threads") }
        append(wd_snapshot_header(magic: WD_SNAPSHOT_MAGIC, version: UInt32(WD_SNAPSHOT_VERSION), reserved: 0))
        let maps = try maps()
        var stacks: [(parts: [SnapshotMemory], outer: SnapshotMemory?)] = []
        for thread in core.threads {
            try core.checkTime()
            let parts = self.stacks(of: thread)
            stacks.append((parts, parts.last.flatMap { outerStack(beyond: $0) }))
        }
        put(WD_RECORD_PROCESS, [Array(description.utf8)])
        put(WD_RECORD_MAPS, [maps.text])
        for thread in core.threads { put(WD_RECORD_THREAD, [Self.bytes(of: Self.record(thread, subject))]) }
        for (thread, (parts, outer)) in zip(core.threads, stacks) {
            for part in parts { put(WD_RECORD_STACK, part, of: thread.id) }
            if let outer { put(WD_RECORD_OUTER_STACK, outer, of: thread.id) }
        }
        if let vdso = core.vdso {
            let image = core.memory(at: vdso, count: Self.vdsoBytes)
            if !image.isEmpty {
                put(WD_RECORD_VDSO, [Self.bytes(of: wd_memory_range(address: vdso, owner: 0)), image])
            }
        }
        for module in maps.modules {
            let record = wd_module(
                start: module.start, descriptor: module.descriptor.map(UInt32.init) ?? .max,
                path_length: UInt32(module.path.count))
            put(WD_RECORD_MODULE, [Self.bytes(of: record), module.path])
        }
        guard let records = OwnedDescriptor(sealing: bytes) else {
            throw CoreError("there is no memory for its stacks")
        }
        return Snapshot(ofCore: subject.id, records: records, files: descriptors, threadCount: core.threads.count)
    }

    private var description: String {
        var lines = [
            "PID=\(subject.id)", "UID=\(subject.user)", "PPID=\(subject.parent)",
            "COMM=\(Self.line(subject.name))", "ARCH=x86-64",
            "METHOD=\(CapturedProcess.Method.core.rawValue)",
        ]
        if !remarks.isEmpty { lines.append("TRUNCATED=\(remarks.joined(separator: ", "))") }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Checks bytes, not characters: Swift treats CR LF as a single character, which does not equal a newline.
    private static func line(_ name: String) -> String {
        String(decoding: name.utf8.filter { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    // MARK: - Threads

    private static func record(
        _ thread: CoreFile.Thread, _ subject: (id: Int32, parent: Int32, user: UInt32, name: String)
    ) -> wd_thread {
        var record = wd_thread()
        record.tid = thread.id
        record.state = UInt8(ascii: "?")
        record.register_source = UInt8(WD_REGISTERS_PTRACE.rawValue)
        withUnsafeMutableBytes(of: &record.registers) { buffer in
            thread.registers.withUnsafeBytes { buffer.copyBytes(from: $0.prefix(buffer.count)) }
        }
        // A core has only one name, that of the process.
        if thread.id == subject.id {
            withUnsafeMutableBytes(of: &record.name) { buffer in
                buffer.copyBytes(from: subject.name.utf8.prefix(buffer.count - 1))
            }
        }
        return record
    }

    /// The stack, and the one that a signal handler on an alternate stack has interrupted.
    private func stacks(of thread: CoreFile.Thread) -> [SnapshotMemory] {
        let pointer = thread.registers[SnapshotRegister.rsp.rawValue]
        let stack = stack(from: pointer)
        guard !stack.bytes.isEmpty else { return [] }
        let interrupted = stack.interruptedPointer(from: pointer).map { self.stack(from: $0) }
        return [stack] + [interrupted].compactMap(\.self).filter { !$0.bytes.isEmpty }
    }

    private func stack(from pointer: UInt64) -> SnapshotMemory {
        let count = core.threads.count
        var limit = min(count > Self.crowd ? Self.crowdStackBytes : Self.stackBytes, Self.allStackBytes / count)
        guard let segment = core.stackSegment(at: pointer) else { return SnapshotMemory(address: pointer, bytes: []) }
        let start = max(segment.start, pointer - min(pointer, Self.redZone)) & ~7
        // The arguments and the environment are above this address, and may contain secrets.
        if let end = core.randomBytes, end >= segment.start, end < segment.end {
            limit = min(limit, end > start ? Int(clamping: end - start) : 0)
        }
        let address = max(start, segment.start)
        return SnapshotMemory(address: address, bytes: core.memory(at: address, count: limit)[...])
    }

    /// The outermost part of a stack whose inner part is known, as `stacks.c` copies it from a live process.
    private func outerStack(beyond known: SnapshotMemory) -> SnapshotMemory? {
        guard let segment = core.stackSegment(at: known.address) else { return nil }
        var end = segment.end
        if let base = core.randomBytes, base >= segment.start, base < end { end = base & ~7 }
        let reached = known.address + UInt64(known.bytes.count)
        guard end > reached else { return nil }
        let start = end - reached < Self.outerBytes ? reached : end - Self.outerBytes
        let bytes = core.memory(at: start, count: Int(end - start))
        return bytes.isEmpty ? nil : SnapshotMemory(address: start, bytes: bytes[...])
    }

    // MARK: - Mappings

    private struct Module {
        let start: UInt64
        let descriptor: Int?
        let path: [UInt8]
    }

    /// Lines as in `/proc/PID/maps`, and the executable files among them.
    private mutating func maps() throws(CoreError) -> (text: [UInt8], modules: [Module]) {
        let executables = Set(
            core.segments.filter(\.isExecutable).compactMap { core.mappings[$0.start]?.path })
        var text: [UInt8] = []
        var modules: [Module] = []
        for (index, segment) in core.segments.enumerated() {
            guard text.count < Self.mapsBytes, index < SnapshotReader.mappingLimit else {
                remarks.append("\(core.segments.count - index) mappings")
                break
            }
            let mapping = core.mappings[segment.start].flatMap { $0.end == segment.end ? $0 : nil }
            var line = "\(hexadecimal(segment.start))-\(hexadecimal(segment.end)) "
            line += segment.isReadable ? "r" : "-"
            line += segment.isWritable ? "w" : "-"
            line += segment.isExecutable ? "xp " : "-p "
            guard let mapping, mapping.path.first == UInt8(ascii: "/") else {
                line += "00000000 00:00 0 " + (segment.start == core.vdso ? "[vdso]" : "")
                text += Array(line.utf8) + [UInt8(ascii: "\n")]
                continue
            }
            let path = Self.escaped(mapping.path)
            let isNew = files[mapping.path] == nil
            if isNew { try core.checkTime() }
            let file = file(mapping, isNeeded: executables.contains(mapping.path))
            let (major, minor, inode) = file.identity
            line += "\(hexadecimal(mapping.offset)) \(hexadecimal(major)):\(hexadecimal(minor)) \(inode) "
            text += Array(line.utf8) + path + [UInt8(ascii: "\n")]
            if isNew, executables.contains(mapping.path), modules.count < WD_SNAPSHOT_MAX_MODULES {
                modules.append(Module(start: segment.start, descriptor: file.descriptor, path: path))
            }
        }
        return (text, modules)
    }

    /// The file at a path in the core, if it is still the one that was mapped.
    private mutating func file(_ mapping: CoreFile.Mapping, isNeeded: Bool) -> File {
        if let known = files[mapping.path] { return known }
        // Files without a known device and inode get unique numbers instead.
        let unknown = File(identity: (0, 0, UInt64(files.count + 1)), descriptor: nil)
        let result =
            isNeeded && descriptors.count < WD_SNAPSHOT_MAX_MODULES && tries < Self.fileLimit
            ? opened(mapping) ?? unknown : unknown
        files[mapping.path] = result
        return result
    }

    /// Opens the file that is now at the path, if it is a regular one; passes it on only if it is the one that was
    /// mapped.
    private mutating func opened(_ mapping: CoreFile.Mapping) -> File? {
        tries += 1
        guard mapping.offset == 0,
            let file = try? OwnedDescriptor.regularFile(at: ByteString(bytes: mapping.path)),
            isUnchanged(file.number, since: mapping)
        else { return nil }
        var status = stat()
        guard fstat(file.number, &status) == 0 else { return nil }
        descriptors.append(file)
        let device = UInt64(status.st_dev)
        return File(
            identity: (
                UInt32(truncatingIfNeeded: device >> 8 & 0xFFF), UInt32(truncatingIfNeeded: device & 0xFF),
                UInt64(status.st_ino)
            ), descriptor: descriptors.count - 1)
    }

    /// Whether a file is still the one that was mapped.
    ///
    /// The kernel writes the first page of each ELF file into the core (core(5), coredump_filter bit 4): the headers
    /// and, where linkers usually place it, the build ID. The whole page must match, so that a user who replaced the
    /// core cannot make this pass on a file just by naming it.
    private func isUnchanged(_ descriptor: Int32, since mapping: CoreFile.Mapping) -> Bool {
        let there = core.memory(at: mapping.start, count: Self.pageBytes)
        guard there.count == Self.pageBytes, there.isELF else { return false }
        let here = FileBytes.read(descriptor, at: 0, count: Self.pageBytes)
        // A mapping is filled with zeros past the end of its file: mmap(2).
        return here + [UInt8](repeating: 0, count: Self.pageBytes - here.count) == there
    }

    /// Escapes a path as the kernel does in `/proc/PID/maps`.
    private static func escaped(_ path: [UInt8]) -> [UInt8] {
        path.flatMap { $0 == UInt8(ascii: "\n") ? Array("\\012".utf8) : [$0] }
    }

    // MARK: - Records

    private mutating func put(_ kind: wd_record_kind, _ parts: [[UInt8]]) {
        append(wd_record(kind: kind.rawValue, flags: 0, length: UInt64(parts.reduce(0) { $0 + $1.count })))
        for part in parts { bytes += part }
        bytes += [UInt8](repeating: 0, count: -bytes.count & 7)
    }

    private mutating func put(_ kind: wd_record_kind, _ part: SnapshotMemory, of thread: Int32) {
        put(kind, [Self.bytes(of: wd_memory_range(address: part.address, owner: UInt64(thread))), Array(part.bytes)])
    }

    private mutating func append(_ value: some BitwiseCopyable) {
        bytes += Self.bytes(of: value)
    }

    private static func bytes(of value: some BitwiseCopyable) -> [UInt8] {
        withUnsafeBytes(of: value) { Array($0) }
    }

    private func hexadecimal(_ number: some FixedWidthInteger) -> String { String(number, radix: 16) }
}

extension Snapshot {
    /// Creates a snapshot from a core file: no process was stopped, and none is killed.
    fileprivate convenience init(
        ofCore process: Int32, records: OwnedDescriptor, files: [OwnedDescriptor], threadCount: Int
    ) {
        self.init(
            process: process, records: records, files: files, method: .core, threadCount: threadCount,
            timings: SnapshotTimings(
                began: Instant(nanoseconds: 0), facts: .zero, frozen: .zero, untilKill: nil, untilReaped: nil,
                total: .zero),
            end: .untouched)
    }
}
