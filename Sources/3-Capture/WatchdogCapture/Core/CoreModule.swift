// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A mapped ELF file, as far as a debugger needs it to find the other modules.
///
/// The process owns the file, so its contents are untrusted: they are bounded, and only copied.
struct CoreModule {
    /// The parts of the program's headers that the loader uses.
    struct Program {
        let entry: UInt64
        let headers: (address: UInt64, count: Int)
        /// The path of the loader.
        let interpreter: [UInt8]?
    }

    private static let headerLimit = 128
    private static let dynamicLimit: UInt64 = 64 << 10
    private static let pathLimit: UInt64 = 4096

    /// The first address.
    let start: UInt64
    let path: [UInt8]
    let descriptor: Int32
    /// The first page of the file, if it is mapped: it has the headers and, where linkers usually place it, the build ID.
    let firstPage: [UInt8]
    /// The load bias: the offset from an address in the file to one in memory.
    let bias: UInt64
    /// The run-time address of the dynamic section, and its size in the file.
    let dynamic: (address: UInt64, size: Int)?
    let program: Program

    /// Reads the headers; nil if the file is not one of a 64-bit program for x86-64.
    ///
    /// - Parameter mapping: the first mapping of the file.
    init?(_ mapping: SnapshotMapping, _ descriptor: Int32) {
        guard let header = FileBytes.elfHeader(descriptor), header.e_ident.4 == 2, header.e_ident.5 == 1,
            header.e_machine == 62, header.e_phentsize == UInt16(MemoryLayout<Elf64_Phdr>.size),
            (1...Self.headerLimit).contains(Int(header.e_phnum))
        else { return nil }
        let size = MemoryLayout<Elf64_Phdr>.size
        let table = FileBytes.read(descriptor, at: header.e_phoff, count: Int(header.e_phnum) * size)
        let segments: [Elf64_Phdr] = (0..<Int(header.e_phnum)).compactMap { table.load(at: $0 * size) }
        guard segments.count == Int(header.e_phnum),
            let first = segments.first(where: {
                $0.p_type == 1 && CoreMemory.page(of: $0.p_offset) == mapping.offset
            })
        else { return nil }
        start = mapping.start
        path = mapping.filePath
        self.descriptor = descriptor
        bias = mapping.start &- CoreMemory.page(of: first.p_vaddr)
        firstPage =
            mapping.offset == 0 ? FileBytes.read(descriptor, at: 0, count: CoreMemory.pageSize) : []
        let bias = bias
        dynamic = segments.first { $0.p_type == 2 && $0.p_filesz <= Self.dynamicLimit }.map {
            (bias &+ $0.p_vaddr, Int($0.p_filesz))
        }
        program = Program(
            entry: bias &+ header.e_entry,
            headers: (mapping.start &+ header.e_phoff &- mapping.offset, segments.count),
            interpreter: segments.first { $0.p_type == 3 }.map { segment in
                let bytes = FileBytes.read(
                    descriptor, at: segment.p_offset, count: Int(min(segment.p_filesz, Self.pathLimit)))
                return Array(bytes.prefix { $0 != 0 })
            })
    }

    /// The last part of the path.
    static func name(_ path: [UInt8]) -> ArraySlice<UInt8> { path.split(separator: UInt8(ascii: "/")).last ?? [] }
}

extension SnapshotMapping {
    /// The path without the kernel's escapes: proc_pid_maps(5).
    var filePath: [UInt8] {
        var path: [UInt8] = []
        var rest = Array(self.path.utf8)[...]
        let newline = Array("\\012".utf8)
        while let byte = rest.first {
            if rest.starts(with: newline) {
                path.append(UInt8(ascii: "\n"))
                rest = rest.dropFirst(newline.count)
            } else {
                path.append(byte)
                rest = rest.dropFirst()
            }
        }
        return path
    }
}
