// SPDX-License-Identifier: Apache-2.0

import CSnapshot
import Glibc
import WatchdogPolicy
public import WatchdogReport

/// What a core file tells of a process that a signal ended.
public struct CoreContents: Sendable {
    /// The process.
    public let process: Int32
    /// Its stacks, in the form that ``Symbolicator`` takes.
    public let snapshot: Snapshot
    /// Why the signal was sent, where the core says it.
    public let signal: SignalInfo?
    /// The thread to which it was delivered.
    public let thread: Int32

    /// Reads a core file.
    ///
    /// - Parameters:
    ///   - descriptor: of the file, which stays the caller's.
    ///   - process: whose core it has to be.
    /// - Throws: ``CoreError``.
    public init(reading descriptor: Int32, of process: Int32) throws(CoreError) {
        do throws(CoreFileError) {
            let file = try CoreFile(descriptor: descriptor)
            guard let subject = file.process, subject.id == process, let first = file.threads.first else {
                throw CoreFileError("it is of another process")
            }
            self.process = process
            signal = file.signal
            thread = first.id
            snapshot = try CoreRecords(file, subject).snapshot()
        } catch {
            throw CoreError(description: error.description)
        }
    }
}

/// Why a core file is of no use.
public struct CoreError: Error, Equatable, CustomStringConvertible {
    /// As in "the core file /srv/core is of no use: *it is no core file*".
    public let description: String
}

/// Turns a core file into the records of `wd_snapshot_format.h`.
private struct CoreRecords {
    private static let stackBytes = 256 << 10
    private static let crowdStackBytes = 64 << 10
    private static let crowd = 200
    private static let allStackBytes = 32 << 20
    private static let vdsoBytes = 64 << 10
    private static let mapsBytes = 8 << 20
    private static let redZone: UInt64 = 128
    private static let pageBytes = 4096

    private let core: CoreFile
    private let subject: (id: Int32, parent: Int32, user: UInt32, name: String)
    private var bytes: [UInt8] = []
    private var descriptors: [Int32] = []
    private var files: [[UInt8]: File] = [:]
    private var remarks: [String] = []

    /// A mapped file as it is now.
    private struct File {
        let identity: (major: UInt32, minor: UInt32, inode: UInt64)
        /// Index among the descriptors handed over.
        let descriptor: Int?
    }

    init(_ core: CoreFile, _ subject: (id: Int32, parent: Int32, user: UInt32, name: String)) {
        self.core = core
        self.subject = subject
    }

    consuming func snapshot() throws(CoreFileError) -> Snapshot {
        if core.isCutOff { remarks.append("the core file is cut off") }
        if core.leftOutThreads > 0 { remarks.append("\(core.leftOutThreads) threads") }
        append(wd_snapshot_header(magic: WD_SNAPSHOT_MAGIC, version: UInt32(WD_SNAPSHOT_VERSION), reserved: 0))
        let maps = maps()
        let stacks = core.threads.map { stack(of: $0) }
        put(WD_RECORD_PROCESS, [Array(description.utf8)])
        put(WD_RECORD_MAPS, [maps.text])
        for thread in core.threads { put(WD_RECORD_THREAD, [Self.bytes(of: Self.record(thread, subject))]) }
        for (thread, stack) in zip(core.threads, stacks) where !stack.bytes.isEmpty {
            put(
                WD_RECORD_STACK,
                [Self.bytes(of: wd_memory_range(address: stack.address, owner: UInt64(thread.id))), stack.bytes])
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
        let memory = wd_create_memfd()
        guard memory >= 0 else {
            for descriptor in descriptors { close(descriptor) }
            throw CoreFileError("there is no memory for its stacks")
        }
        // Takes over the descriptors, also where it is written in vain.
        let snapshot = Snapshot(
            ofCore: subject.id, memory: memory, modules: descriptors, threadCount: core.threads.count)
        guard Self.write(bytes, to: memory), wd_seal_memfd(memory) == 0 else {
            throw CoreFileError("there is no memory for its stacks")
        }
        return snapshot
    }

    private var description: String {
        var lines = [
            "PID=\(subject.id)", "UID=\(subject.user)", "PPID=\(subject.parent)",
            "COMM=\(subject.name.filter { $0 != "\n" })", "ARCH=x86-64",
            "METHOD=\(CapturedProcess.Method.core.rawValue)",
        ]
        if !remarks.isEmpty { lines.append("TRUNCATED=\(remarks.joined(separator: ", "))") }
        return lines.map { $0 + "\n" }.joined()
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
        // A core has no name but the process's.
        if thread.id == subject.id {
            withUnsafeMutableBytes(of: &record.name) { buffer in
                buffer.copyBytes(from: subject.name.utf8.prefix(buffer.count - 1))
            }
        }
        return record
    }

    private func stack(of thread: CoreFile.Thread) -> (address: UInt64, bytes: [UInt8]) {
        let pointer = thread.registers[SnapshotRegister.rsp.rawValue]
        guard let segment = core.segment(at: pointer) else { return (pointer, []) }
        let limit =
            core.threads.count > Self.crowd
            ? min(Self.crowdStackBytes, Self.allStackBytes / core.threads.count)
            : min(
                Self.stackBytes, Self.allStackBytes / core.threads.count)
        let start = max(segment.start, pointer - min(pointer, Self.redZone)) & ~7
        return (start, core.memory(at: max(start, segment.start), count: limit))
    }

    // MARK: - Mappings

    private struct Module {
        let start: UInt64
        let descriptor: Int?
        let path: [UInt8]
    }

    /// Lines as in `/proc/PID/maps`, and the executable files among them.
    private mutating func maps() -> (text: [UInt8], modules: [Module]) {
        let executables = Set(
            core.segments.filter(\.isExecutable).compactMap { core.mappings[$0.start]?.path })
        var text: [UInt8] = []
        var modules: [Module] = []
        for segment in core.segments where text.count < Self.mapsBytes {
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

    /// The file at a path of the core, if it still is the one that was mapped.
    private mutating func file(_ mapping: CoreFile.Mapping, isNeeded: Bool) -> File {
        if let known = files[mapping.path] { return known }
        // Files that cannot be told apart by device and inode are by a number of their own.
        let unknown = File(identity: (0, 0, UInt64(files.count + 1)), descriptor: nil)
        let result =
            isNeeded && descriptors.count < WD_SNAPSHOT_MAX_MODULES ? opened(mapping) ?? unknown : unknown
        files[mapping.path] = result
        return result
    }

    /// O_NONBLOCK, because the path may lead to a FIFO by now.
    private mutating func opened(_ mapping: CoreFile.Mapping) -> File? {
        guard mapping.offset == 0 else { return nil }
        let descriptor = (mapping.path + [0]).withUnsafeBufferPointer { path in
            path.withMemoryRebound(to: CChar.self) { path in
                path.baseAddress.map { open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) } ?? -1
            }
        }
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            isUnchanged(descriptor, since: mapping)
        else {
            close(descriptor)
            return nil
        }
        descriptors.append(descriptor)
        let device = UInt64(status.st_dev)
        return File(
            identity: (
                UInt32(truncatingIfNeeded: device >> 8 & 0xFFF), UInt32(truncatingIfNeeded: device & 0xFF),
                UInt64(status.st_ino)
            ), descriptor: descriptors.count - 1)
    }

    /// The kernel writes the first page of each ELF file into the core (core(5), coredump_filter bit 4): headers and, as
    /// linkers place it, the build-id.
    private func isUnchanged(_ descriptor: Int32, since mapping: CoreFile.Mapping) -> Bool {
        let there = core.memory(at: mapping.start, count: Self.pageBytes)
        guard there.starts(with: [0x7F, UInt8(ascii: "E"), UInt8(ascii: "L"), UInt8(ascii: "F")]) else { return false }
        let here = [UInt8](unsafeUninitializedCapacity: there.count) { buffer, count in
            count = max(0, pread(descriptor, buffer.baseAddress, there.count, 0))
        }
        return here == there
    }

    /// As the kernel writes a path into `/proc/PID/maps`.
    private static func escaped(_ path: [UInt8]) -> [UInt8] {
        path.flatMap { $0 == UInt8(ascii: "\n") ? Array("\\012".utf8) : [$0] }
    }

    // MARK: - Records

    private mutating func put(_ kind: wd_record_kind, _ parts: [[UInt8]]) {
        append(wd_record(kind: kind.rawValue, flags: 0, length: UInt64(parts.reduce(0) { $0 + $1.count })))
        for part in parts { bytes += part }
        bytes += [UInt8](repeating: 0, count: -bytes.count & 7)
    }

    private mutating func append(_ value: some BitwiseCopyable) {
        bytes += Self.bytes(of: value)
    }

    private static func bytes(of value: some BitwiseCopyable) -> [UInt8] {
        withUnsafeBytes(of: value) { Array($0) }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        bytes.withUnsafeBytes { buffer in
            var done = 0
            while done < buffer.count {
                let count = Glibc.write(descriptor, buffer.baseAddress?.advanced(by: done), buffer.count - done)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { return false }
                done += count
            }
            return true
        }
    }

    private func hexadecimal(_ number: some FixedWidthInteger) -> String { String(number, radix: 16) }
}

extension Snapshot {
    /// A snapshot out of a core file: nothing was stopped, and nothing is left to be ended.
    fileprivate convenience init(ofCore process: Int32, memory: Int32, modules: [Int32], threadCount: Int) {
        self.init(
            process: process, memory: memory, modules: modules, method: .core, threadCount: threadCount,
            timings: SnapshotTimings(
                began: Instant(nanoseconds: 0), facts: .zero, frozen: .zero, untilKill: nil, untilReaped: nil,
                total: .zero),
            end: .untouched)
    }
}
