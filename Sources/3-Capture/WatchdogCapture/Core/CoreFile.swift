// SPDX-License-Identifier: Apache-2.0

import CSnapshot
import Glibc
import WatchdogReport

/// The core file of a process: core(5), elf(5).
///
/// The kernel writes it, but the process determines what it contains and may have replaced it. The total work is
/// therefore bounded, no matter how often the file repeats its parts, and so is the time to read it.
struct CoreFile {
    struct Thread {
        let id: Int32
        /// In the order of ``SnapshotRegister``.
        let registers: [UInt64]
    }

    /// A part of the address space.
    struct Segment {
        let start: UInt64
        let end: UInt64
        /// The offset of its bytes in the file, and their number; the kernel omits pages that are still in mapped
        /// files.
        let offset: UInt64
        let fileSize: UInt64
        let isReadable: Bool
        let isWritable: Bool
        let isExecutable: Bool
    }

    /// A part of the address space to which a file is mapped.
    struct Mapping {
        let start: UInt64
        let end: UInt64
        let offset: UInt64
        let path: [UInt8]
    }

    private static let segmentLimit = 70_000
    private static let nameLimit: UInt32 = 64
    private static let pathLimit = Int(PATH_MAX)
    /// core(5): by default, the kernel writes at most 4 MiB of names.
    private static let mappingBytes = 8 << 20

    private let descriptor: Int32
    private let isLate: () -> Bool
    /// Note segments to read; the kernel writes one.
    private var noteSegmentsLeft = 2
    /// Notes to read in the whole file; the kernel writes up to eight per thread.
    private var notesLeft = 8 * Int(WD_SNAPSHOT_MAX_THREADS)
    private var hasMappings = false
    private var threadIDs: Set<Int32> = []
    private(set) var process: (id: Int32, parent: Int32, user: UInt32, name: String)?
    /// The threads; the first one received the signal.
    private(set) var threads: [Thread] = []
    /// In ascending order and without overlap.
    private(set) var segments: [Segment] = []
    private(set) var mappings: [UInt64: Mapping] = [:]
    private(set) var signal: SignalInfo?
    /// The address of the vDSO.
    private(set) var vdso: UInt64?
    /// The address of the kernel's random bytes, which lie on the stack just below the arguments and the environment.
    private(set) var randomBytes: UInt64?
    /// Whether the file ends before the end of what it declares.
    private(set) var isCutOff = false
    private(set) var leftOutThreads = 0

    /// Reads everything except the memory.
    ///
    /// - Parameter isLate: whether the time limit has passed.
    init(descriptor: Int32, isLate: @escaping () -> Bool) throws(CoreError) {
        self.descriptor = descriptor
        self.isLate = isLate
        guard let header = FileBytes.elfHeader(descriptor), header.e_type == 4 else {
            throw CoreError("it is not a core file")
        }
        // ELFCLASS64, ELFDATA2LSB, EM_X86_64.
        guard header.e_ident.4 == 2, header.e_ident.5 == 1, header.e_machine == 62,
            header.e_phentsize == UInt16(MemoryLayout<Elf64_Phdr>.size)
        else { throw CoreError("it is not from a 64-bit program for x86-64") }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw CoreError("it cannot be read") }
        let size = UInt64(clamping: status.st_size)
        for index in 0..<segmentCount(header) {
            let (offset, overflow) = header.e_phoff.addingReportingOverflow(
                UInt64(index * MemoryLayout<Elf64_Phdr>.size))
            try checkTime()
            guard !overflow, let segment: Elf64_Phdr = load(at: offset) else {
                isCutOff = true
                break
            }
            switch segment.p_type {
            case 1: add(segment, size)
            case 4: try readNotes(segment)
            default: break
            }
        }
        guard process != nil, !threads.isEmpty else { throw CoreError("it has no threads") }
    }

    /// Throws if the time limit has passed.
    func checkTime() throws(CoreError) {
        if isLate() { throw CoreError("to read it takes too long") }
    }

    /// PN_XNUM: if the count does not fit, section 0 contains it.
    private func segmentCount(_ header: Elf64_Ehdr) -> Int {
        guard header.e_phnum == 0xFFFF else { return Int(header.e_phnum) }
        let section: Elf64_Shdr? = header.e_shoff == 0 ? nil : load(at: header.e_shoff)
        return min(Int(section?.sh_info ?? 0xFFFF), Self.segmentLimit)
    }

    private mutating func add(_ segment: Elf64_Phdr, _ size: UInt64) {
        let (end, overflow) = segment.p_vaddr.addingReportingOverflow(segment.p_memsz)
        guard !overflow, segment.p_memsz > 0, segment.p_filesz <= segment.p_memsz,
            segment.p_vaddr >= segments.last?.end ?? 0
        else { return }
        if segment.p_filesz > 0, segment.p_offset > size || segment.p_filesz > size - segment.p_offset {
            isCutOff = true
        }
        segments.append(
            Segment(
                start: segment.p_vaddr, end: end, offset: segment.p_offset, fileSize: segment.p_filesz,
                isReadable: segment.p_flags & 4 != 0, isWritable: segment.p_flags & 2 != 0,
                isExecutable: segment.p_flags & 1 != 0))
    }

    // MARK: - Notes

    private mutating func readNotes(_ segment: Elf64_Phdr) throws(CoreError) {
        var offset = segment.p_offset
        let (end, overflow) = segment.p_offset.addingReportingOverflow(segment.p_filesz)
        guard !overflow, noteSegmentsLeft > 0 else { return }
        noteSegmentsLeft -= 1
        while notesLeft > 0 {
            notesLeft -= 1
            try checkTime()
            guard offset < end, let note: Elf64_Nhdr = load(at: offset), note.n_namesz <= Self.nameLimit else { return }
            let name = offset + UInt64(MemoryLayout<Elf64_Nhdr>.size)
            let content = name + UInt64((note.n_namesz + 3) & ~3)
            let (next, overflow) = content.addingReportingOverflow((UInt64(note.n_descsz) + 3) & ~3)
            guard !overflow, next <= end else { return }
            read(type: note.n_type, at: content, size: Int(note.n_descsz))
            offset = next
        }
    }

    private mutating func read(type: UInt32, at offset: UInt64, size: Int) {
        switch type {
        case 1: readThread(bytes(at: offset, count: min(size, 512)))
        case 3 where process == nil: readProcess(bytes(at: offset, count: min(size, 256)))
        case 6 where vdso == nil: readVector(bytes(at: offset, count: min(size, 4096)))
        case 0x5349_4749 where signal == nil: readSignal(bytes(at: offset, count: min(size, 128)))
        case 0x4649_4C45 where !hasMappings: readMappings(bytes(at: offset, count: min(size, Self.mappingBytes)))
        default: break
        }
    }

    /// NT_PRSTATUS: struct elf_prstatus, with user_regs_struct of `sys/user.h` at 112.
    private mutating func readThread(_ note: [UInt8]) {
        guard let id: Int32 = note.load(at: 32), id > 0, note.count >= 112 + SnapshotRegister.userCount * 8 else {
            return
        }
        guard threads.count < Int(WD_SNAPSHOT_MAX_THREADS) else {
            leftOutThreads += 1
            return
        }
        let raw: [UInt64] = (0..<SnapshotRegister.userCount).map { note.load(at: 112 + 8 * $0) ?? 0 }
        guard threadIDs.insert(id).inserted else { return }
        threads.append(Thread(id: id, registers: SnapshotRegister.userOrder.map { raw[$0] }))
    }

    /// NT_PRPSINFO: struct elf_prpsinfo.
    private mutating func readProcess(_ note: [UInt8]) {
        guard let user: UInt32 = note.load(at: 16), let id: Int32 = note.load(at: 24), id > 0,
            let parent: Int32 = note.load(at: 28), note.count >= 56
        else { return }
        process = (id, parent, user, String(decoding: note[40..<56].prefix { $0 != 0 }, as: UTF8.self))
    }

    /// NT_AUXV: pairs of numbers, getauxval(3); 25 is AT_RANDOM, 33 is AT_SYSINFO_EHDR.
    private mutating func readVector(_ note: [UInt8]) {
        for start in stride(from: 0, to: note.count - 15, by: 16) {
            guard let type: UInt64 = note.load(at: start) else { return }
            switch type {
            case 25: randomBytes = note.load(at: start + 8)
            case 33: vdso = note.load(at: start + 8)
            default: break
            }
        }
    }

    /// NT_SIGINFO: siginfo_t of the signal that ended the process.
    private mutating func readSignal(_ note: [UInt8]) {
        guard let number: Int32 = note.load(at: 0), let code: Int32 = note.load(at: 8),
            let union: UInt64 = note.load(at: 16)
        else { return }
        signal = SignalInfo(signal: Int(number), code: Int(code), union: union)
    }

    /// NT_FILE: the count, the page size, then start, end and page offset of each mapping, then the paths.
    private mutating func readMappings(_ note: [UInt8]) {
        hasMappings = true
        guard let count: UInt64 = note.load(at: 0), let pageSize: UInt64 = note.load(at: 8),
            count <= UInt64(Self.segmentLimit), 16 + Int(count) * 24 <= note.count
        else { return }
        var names = note[(16 + Int(count) * 24)...]
        for index in 0..<Int(count) {
            guard let length = names.firstIndex(of: 0), let start: UInt64 = note.load(at: 16 + 24 * index),
                let end: UInt64 = note.load(at: 24 + 24 * index), let page: UInt64 = note.load(at: 32 + 24 * index)
            else { return }
            let path = Array(names[..<length])
            names = names[(length + 1)...]
            guard start < end, path.count < Self.pathLimit else { continue }
            mappings[start] = Mapping(
                start: start, end: end, offset: page.multipliedReportingOverflow(by: pageSize).partialValue, path: path)
        }
    }

    // MARK: - Memory

    /// Up to `count` bytes of the process's memory, starting at `address`; fewer if the file has fewer.
    func memory(at address: UInt64, count: Int) -> [UInt8] {
        guard let segment = segment(at: address) else { return [] }
        let skipped = address - segment.start
        guard skipped < segment.fileSize else { return [] }
        let (offset, overflow) = segment.offset.addingReportingOverflow(skipped)
        guard !overflow else { return [] }
        return bytes(at: offset, count: Int(min(UInt64(count), segment.fileSize - skipped)))
    }

    func segment(at address: UInt64) -> Segment? {
        let index = firstSegment(above: address)
        return index < segments.count && segments[index].start <= address ? segments[index] : nil
    }

    /// The index of the first segment that ends above an address.
    private func firstSegment(above address: UInt64) -> Int {
        var low = 0
        var high = segments.count
        while low < high {
            let middle = low + (high - low) / 2
            if segments[middle].end <= address { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The segment of a stack pointer's stack: after a stack overflow, the segment above the guard.
    func stackSegment(at pointer: UInt64) -> Segment? {
        let longestLeap: UInt64 = 1 << 20
        var index = firstSegment(above: pointer)
        // Skip the guard of the stack, which is a segment, too.
        if index < segments.count, !segments[index].isReadable { index += 1 }
        guard index < segments.count, segments[index].isWritable else { return nil }
        let isNear = segments[index].start <= pointer || segments[index].start - pointer <= longestLeap
        return isNear ? segments[index] : nil
    }

    // MARK: - Bytes

    private func load<Value: BitwiseCopyable>(at offset: UInt64) -> Value? {
        FileBytes.load(descriptor, at: offset)
    }

    private func bytes(at offset: UInt64, count: Int) -> [UInt8] {
        FileBytes.read(descriptor, at: offset, count: count)
    }
}
