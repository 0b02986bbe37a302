// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogVerdict

extension Snapshot {
    /// The maximum number of bytes that ``core()`` returns.
    public static let coreLimit = CoreImage.limit

    /// Creates a core file of the stacks, which a debugger opens together with the program: core(5).
    ///
    /// It has the threads whose registers were captured, the main one first, their stacks, and the mappings. The same
    /// snapshot and files give the same bytes. Beyond ``coreLimit``, the outer ends of stacks are cut, the main
    /// thread's last.
    ///
    /// - Returns: the file, and the threads whose stacks have a gap, with its size in bytes: a debugger cannot unwind
    ///   beyond it.
    /// - Throws: ``CoreError`` if the snapshot has no stacks.
    public func core() throws(CoreError) -> (bytes: [UInt8], missing: [(thread: Int32, bytes: Int)]) {
        let parsed: SnapshotContents
        do {
            parsed = try contents()
        } catch {
            throw CoreError("the snapshot cannot be read: \(error)")
        }
        let image = try CoreImage(parsed, files: modules)
        return (image.bytes, image.missing)
    }
}

/// The stacks of a snapshot as a core file.
///
/// A debugger finds the libraries in the list that the loader keeps in the program's memory. A capture copies only
/// stacks, so the list is rebuilt from the mappings and the headers of the files, at addresses that the process does
/// not use. The auxiliary vector is rebuilt from the same headers.
struct CoreImage {
    static let limit = 16 << 20
    private static let segmentLimit = 32_768
    private static let mappingBytes = 2 << 20
    private static let pathBytes = 1 << 20
    private static let vdsoBytes = 64 << 10
    /// The lowest address that a process may map: /proc/sys/vm/mmap_min_addr, proc_sys_vm(5).
    private static let lowestAddress: UInt64 = 0x1_0000
    private static let stackLeast = 2 * CoreMemory.pageSize

    private let contents: SnapshotContents
    private let mappings: [SnapshotMapping]
    private let threads: [SnapshotThread]
    private let modules: [CoreModule]
    /// The program's index among the modules.
    private let program: Int?
    private var memory = CoreMemory()
    /// The gaps in the stacks.
    private(set) var missing: [(thread: Int32, bytes: Int)] = []
    private let notes: [UInt8]

    /// - Parameter files: the descriptors of the mapped files, by the snapshot's numbers.
    init(_ contents: SnapshotContents, files: [Int32]) throws(CoreError) {
        guard contents.process.architecture == "x86-64" else {
            throw CoreError("no core is written for \(contents.process.architecture)")
        }
        threads = contents.threads.filter { $0.registerSource != .none }
        guard !threads.isEmpty else { throw CoreError("no thread has registers") }
        self.contents = contents
        let size = UInt64(CoreMemory.pageSize)
        mappings = contents.mappings.filter { $0.start.isMultiple(of: size) && $0.end.isMultiple(of: size) }
        let modules = contents.modules.compactMap { module -> CoreModule? in
            guard let number = module.descriptor, files.indices.contains(number),
                let mapping = contents.mapping(at: module.start), mapping.start == module.start
            else { return nil }
            return CoreModule(mapping, files[number])
        }
        self.modules = modules
        let executable = Array(contents.process.executable.utf8)
        program =
            modules.firstIndex { $0.path == executable } ?? modules.firstIndex { $0.program.interpreter != nil }
        notes = CoreNotes(contents, mappings: Self.listed(mappings, contents), threads, modules, program: program).bytes
        putFiles()
        putList()
        if let vdso = contents.vdso { memory.put(vdso.bytes.prefix(Self.vdsoBytes), at: vdso.address) }
        putStacks()
    }

    /// The file mappings that the core names: if there are too many, only those of files with code.
    private static func listed(_ mappings: [SnapshotMapping], _ contents: SnapshotContents) -> [SnapshotMapping] {
        func cost(_ mapping: SnapshotMapping) -> Int { 25 + mapping.path.utf8.count }
        var files = mappings.filter(\.isFile)
        if files.reduce(0, { $0 + cost($1) }) > mappingBytes {
            let code = Set(contents.modules.map(\.path))
            files = files.filter { code.contains($0.path) }
        }
        var room = mappingBytes
        return files.filter { mapping in
            room -= cost(mapping)
            return room >= 0
        }
    }

    // MARK: - Memory

    /// Adds the first pages of mapped ELF files, as the kernel does: core(5), coredump_filter bit 4.
    private mutating func putFiles() {
        for module in modules { memory.put(module.firstPage[...], at: module.start) }
    }

    /// Rebuilds the loader's list, `struct r_debug` and `struct link_map` of `<link.h>`, and points the program's
    /// dynamic section to it.
    private mutating func putList() {
        guard let program, let dynamic = modules[program].dynamic else { return }
        var room = Self.pathBytes
        let libraries = modules.enumerated().filter { index, module in
            guard index != program, module.dynamic != nil else { return false }
            room -= module.path.count + 1
            return room >= 0
        }.map(\.element)
        let listed = [modules[program]] + libraries
        let (headSize, entrySize) = (40, 40)
        let pathBytes = 1 + libraries.reduce(0) { $0 + $1.path.count + 1 }
        let size = headSize + entrySize * listed.count + pathBytes
        guard let place = freeAddress(size),
            var pages = pages(of: modules[program], at: dynamic.address, size: dynamic.size),
            Self.setDebug(in: &pages, from: Int(dynamic.address % UInt64(CoreMemory.pageSize)), dynamic.size, to: place)
        else { return }
        memory.put(pages[...], at: CoreMemory.page(of: dynamic.address))
        let loader = interpreter?.start ?? 0
        let first = place + UInt64(headSize)
        var list = CoreBytes()
        // r_version, r_map, r_brk, r_state (RT_CONSISTENT), r_ldbase.
        for word in [1, first, loader, 0, loader] { list.append(word) }
        var paths: [UInt8] = [0]
        let pathStart = first + UInt64(entrySize * listed.count)
        for (index, module) in listed.enumerated() {
            let here = first + UInt64(entrySize * index)
            // In the loader's list, the program's own name is empty.
            let name = index == 0 ? pathStart : pathStart + UInt64(paths.count)
            if index > 0 { paths += module.path + [0] }
            // l_addr, l_name, l_ld, l_next, l_prev.
            list.append(module.bias)
            list.append(name)
            list.append(module.dynamic?.address ?? 0)
            list.append(index + 1 < listed.count ? here + UInt64(entrySize) : 0)
            list.append(index > 0 ? here - UInt64(entrySize) : 0)
        }
        memory.put((list.bytes + paths)[...], at: place)
    }

    private var interpreter: CoreModule? {
        program.flatMap { CoreNotes.interpreter(of: modules[$0], among: modules) }
    }

    /// The pages of a mapped file around some bytes.
    private func pages(of module: CoreModule, at address: UInt64, size: Int) -> [UInt8]? {
        guard size > 0, let mapping = contents.mapping(at: address), mapping.isFile,
            UInt64(size) <= mapping.end - address
        else { return nil }
        let page = CoreMemory.page(of: address)
        let (offset, overflow) = mapping.offset.addingReportingOverflow(page - mapping.start)
        let length = Int(address - page) + size
        guard !overflow else { return nil }
        let count = (length + CoreMemory.pageSize - 1) / CoreMemory.pageSize * CoreMemory.pageSize
        let bytes = FileBytes.read(module.descriptor, at: offset, count: count)
        return bytes.count >= length ? bytes : nil
    }

    /// Sets the value of DT_DEBUG (21), as the loader does in a running program; false if the section has none.
    private static func setDebug(in pages: inout [UInt8], from first: Int, _ size: Int, to address: UInt64) -> Bool {
        for start in stride(from: first, through: first + size - 16, by: 16) {
            guard let tag: UInt64 = pages.load(at: start), tag != 0 else { return false }
            guard tag == 21 else { continue }
            withUnsafeBytes(of: address) { pages.replaceSubrange(start + 8..<start + 16, with: $0) }
            return true
        }
        return false
    }

    /// The lowest range of free addresses of this size.
    private func freeAddress(_ size: Int) -> UInt64? {
        var candidate = Self.lowestAddress
        for mapping in mappings {
            if mapping.start >= candidate, mapping.start - candidate >= UInt64(size) { return candidate }
            candidate = max(candidate, mapping.end)
        }
        return nil
    }

    private mutating func putStacks() {
        // The ELF header and the padding before the memory take less than two pages.
        var room =
            Self.limit - notes.count - Self.segmentLimit * MemoryLayout<Elf64_Phdr>.size - memory.byteCount
            - 2 * CoreMemory.pageSize
        for (index, thread) in threads.enumerated() {
            let share = index == 0 ? room : max(Self.stackLeast, room / (threads.count - index))
            var left = min(room, share)
            let inner = [thread.stack, thread.interruptedStack].compactMap(\.self)
            var lacking = Self.gap(between: inner.last, and: thread.outerStack)
            for stack in inner + [thread.outerStack].compactMap(\.self) {
                let before = memory.byteCount
                let offset = Int(stack.address - CoreMemory.page(of: stack.address))
                let whole = left / CoreMemory.pageSize * CoreMemory.pageSize
                let kept = stack.bytes.prefix(max(0, whole - offset))
                memory.put(kept, at: stack.address)
                lacking += stack.bytes.count - kept.count
                left -= memory.byteCount - before
                room -= memory.byteCount - before
            }
            if lacking > 0 { missing.append((thread.id, lacking)) }
        }
    }

    /// The number of bytes between the inner part and the outer end of a stack that were not captured.
    private static func gap(between inner: SnapshotMemory?, and outer: SnapshotMemory?) -> Int {
        guard let inner, let outer else { return 0 }
        let end = inner.address &+ UInt64(inner.bytes.count)
        return outer.address > end ? Int(clamping: outer.address - end) : 0
    }

    // MARK: - The file

    private struct Segment {
        let start: UInt64
        let end: UInt64
        let flags: UInt32
        var hasBytes = false
    }

    private var segments: [Segment] {
        var result: [Segment] = []
        var pages = memory.addresses[...]
        let size = UInt64(CoreMemory.pageSize)
        func add(until end: UInt64, _ flags: UInt32, from start: UInt64? = nil) {
            var position = start
            while let page = pages.first, page < end {
                if let position, position < page { result.append(Segment(start: position, end: page, flags: flags)) }
                var next = page
                while pages.first == next, next < end {
                    pages.removeFirst()
                    next += size
                }
                result.append(Segment(start: page, end: next, flags: flags, hasBytes: true))
                position = position == nil ? nil : next
            }
            if let position, position < end { result.append(Segment(start: position, end: end, flags: flags)) }
        }
        for mapping in mappings {
            // Pages outside all mappings: the loader's list, and stacks that were mapped after the mappings were read.
            add(until: mapping.start, 6)
            let flags: UInt32 =
                (mapping.isReadable ? 4 : 0) | (mapping.isWritable ? 2 : 0) | (mapping.isExecutable ? 1 : 0)
            add(until: mapping.end, flags, from: mapping.start)
        }
        add(until: .max, 6)
        return result.count <= Self.segmentLimit ? result : result.filter(\.hasBytes)
    }

    var bytes: [UInt8] {
        let segments = segments
        let headerSize = MemoryLayout<Elf64_Ehdr>.size + (1 + segments.count) * MemoryLayout<Elf64_Phdr>.size
        let page = CoreMemory.pageSize
        let memoryStart = (headerSize + notes.count + page - 1) / page * page
        var file = CoreBytes(reserving: memoryStart + memory.byteCount)
        var header = Elf64_Ehdr()
        // ELFMAG, ELFCLASS64, ELFDATA2LSB, EV_CURRENT; ET_CORE, EM_X86_64.
        (header.e_ident.0, header.e_ident.1, header.e_ident.2, header.e_ident.3) = (0x7F, 0x45, 0x4C, 0x46)
        (header.e_ident.4, header.e_ident.5, header.e_ident.6) = (2, 1, 1)
        (header.e_type, header.e_machine, header.e_version) = (4, 62, 1)
        header.e_phoff = UInt64(MemoryLayout<Elf64_Ehdr>.size)
        header.e_ehsize = UInt16(MemoryLayout<Elf64_Ehdr>.size)
        header.e_phentsize = UInt16(MemoryLayout<Elf64_Phdr>.size)
        header.e_phnum = UInt16(1 + segments.count)
        file.append(header)
        file.append(
            Elf64_Phdr(
                p_type: 4, p_flags: 0, p_offset: UInt64(headerSize), p_vaddr: 0, p_paddr: 0,
                p_filesz: UInt64(notes.count), p_memsz: 0, p_align: 4))
        var offset = UInt64(memoryStart)
        for segment in segments {
            let size = segment.end - segment.start
            file.append(
                Elf64_Phdr(
                    p_type: 1, p_flags: segment.flags, p_offset: offset, p_vaddr: segment.start, p_paddr: 0,
                    p_filesz: segment.hasBytes ? size : 0, p_memsz: size, p_align: UInt64(page)))
            if segment.hasBytes { offset += size }
        }
        file.append(bytes: notes)
        file.append(bytes: [UInt8](repeating: 0, count: memoryStart - file.bytes.count))
        for address in memory.addresses { file.append(bytes: memory[address]) }
        return file.bytes
    }
}
