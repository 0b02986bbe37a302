// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Reads the GNU build ID of an ELF file, which may contain anything, with bounded effort.
public enum BuildID {
    private static let noteLimit = 4096
    private static let segmentLimit = 64
    /// Kernel modules, and programs compiled with one section per function, stay far below this.
    private static let sectionLimit = 4096

    private static let noteSegment: UInt32 = 4  // PT_NOTE
    private static let noteSection: UInt32 = 7  // SHT_NOTE
    private static let symbolSection: UInt32 = 2  // SHT_SYMTAB

    /// The build ID in lower-case hexadecimal; nil if no note segment contains one.
    public static func read(descriptor: Int32) -> String? {
        header(descriptor).flatMap { inSegments(descriptor, $0) }
    }

    /// The build ID of a file that may contain only debug data, in lower-case hexadecimal.
    ///
    /// The segments of such a file may be wrong, but its sections are not (objcopy(1), `--only-keep-debug`).
    static func read(debugFile descriptor: Int32) -> String? {
        header(descriptor).flatMap { inSections(descriptor, $0) ?? inSegments(descriptor, $0) }
    }

    /// Whether a file has a symbol table with all functions, not only the exported ones.
    static func hasSymbols(descriptor: Int32) -> Bool {
        guard let header = header(descriptor), header.e_shentsize == UInt16(MemoryLayout<Elf64_Shdr>.size) else {
            return false
        }
        for index in 0..<min(Int(header.e_shnum), sectionLimit) {
            let (offset, overflow) = header.e_shoff.addingReportingOverflow(
                UInt64(index * MemoryLayout<Elf64_Shdr>.size))
            guard !overflow, let section: Elf64_Shdr = FileBytes.load(descriptor, at: offset) else { return false }
            if section.sh_type == symbolSection { return true }
        }
        return false
    }

    private static func header(_ descriptor: Int32) -> Elf64_Ehdr? {
        FileBytes.elfHeader(descriptor).flatMap { $0.e_ident.4 == 2 ? $0 : nil }  // ELFCLASS64
    }

    private static func inSegments(_ descriptor: Int32, _ header: Elf64_Ehdr) -> String? {
        let count = min(Int(header.e_phnum), segmentLimit)
        guard header.e_phentsize == UInt16(MemoryLayout<Elf64_Phdr>.size) else { return nil }
        return find(descriptor, at: header.e_phoff, count: count) { (segment: Elf64_Phdr) in
            segment.p_type == noteSegment ? (segment.p_offset, segment.p_filesz) : nil
        }
    }

    private static func inSections(_ descriptor: Int32, _ header: Elf64_Ehdr) -> String? {
        let count = min(Int(header.e_shnum), sectionLimit)
        guard header.e_shentsize == UInt16(MemoryLayout<Elf64_Shdr>.size) else { return nil }
        return find(descriptor, at: header.e_shoff, count: count) { (section: Elf64_Shdr) in
            section.sh_type == noteSection ? (section.sh_offset, section.sh_size) : nil
        }
    }

    /// Searches the notes that a table of headers points to.
    private static func find<Header: BitwiseCopyable>(
        _ descriptor: Int32, at start: UInt64, count: Int, _ notes: (Header) -> (offset: UInt64, size: UInt64)?
    ) -> String? {
        for index in 0..<count {
            let (offset, overflow) = start.addingReportingOverflow(UInt64(index * MemoryLayout<Header>.size))
            guard !overflow, let header: Header = FileBytes.load(descriptor, at: offset) else { return nil }
            guard let place = notes(header) else { continue }
            let bytes = FileBytes.read(descriptor, at: place.offset, count: Int(min(place.size, UInt64(noteLimit))))
            if let identifier = identifier(in: bytes) { return identifier }
        }
        return nil
    }

    private static func identifier(in notes: [UInt8]) -> String? {
        var rest = notes[...]
        while rest.count >= 12 {
            let nameSize = Int(word(rest, 0))
            let size = Int(word(rest, 4))
            let type = word(rest, 8)
            let start = 12 + (nameSize + 3) & ~3
            guard start <= rest.count, size <= rest.count - start else { return nil }
            let name = rest.dropFirst(12).prefix(nameSize)
            if type == 3, name.elementsEqual("GNU\0".utf8), (1...64).contains(size) {  // NT_GNU_BUILD_ID
                return rest.dropFirst(start).prefix(size).map { byte in
                    let digits = String(byte, radix: 16)
                    return digits.utf8.count == 1 ? "0" + digits : digits
                }.joined()
            }
            rest = rest.dropFirst(start + (size + 3) & ~3)
        }
        return nil
    }

    private static func word(_ slice: ArraySlice<UInt8>, _ offset: Int) -> UInt32 {
        slice.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
    }
}
