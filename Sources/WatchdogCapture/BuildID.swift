// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The GNU build-id of an ELF file, read with bounded effort from a file that may be anything.
enum BuildID {
    private static let noteLimit = 4096
    private static let segmentLimit = 64

    /// The build-id in lower-case hexadecimal, or nil when there is none in a note segment.
    static func read(descriptor: Int32) -> String? {
        guard let header: Elf64_Ehdr = load(descriptor, at: 0),
            header.e_ident.0 == 0x7F, header.e_ident.1 == UInt8(ascii: "E"), header.e_ident.2 == UInt8(ascii: "L"),
            header.e_ident.3 == UInt8(ascii: "F"), header.e_ident.4 == 2,  // ELFCLASS64
            header.e_phentsize == UInt16(MemoryLayout<Elf64_Phdr>.size)
        else { return nil }
        for index in 0..<min(Int(header.e_phnum), segmentLimit) {
            let (offset, overflow) = header.e_phoff.addingReportingOverflow(
                UInt64(index * MemoryLayout<Elf64_Phdr>.size)
            )
            guard !overflow, let segment: Elf64_Phdr = load(descriptor, at: offset) else { return nil }
            guard segment.p_type == 4 else { continue }  // PT_NOTE
            let notes = bytes(descriptor, at: segment.p_offset, count: Int(min(segment.p_filesz, UInt64(noteLimit))))
            if let identifier = identifier(in: notes) { return identifier }
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

    private static func load<Value: BitwiseCopyable>(_ descriptor: Int32, at offset: UInt64) -> Value? {
        let bytes = bytes(descriptor, at: offset, count: MemoryLayout<Value>.size)
        guard bytes.count == MemoryLayout<Value>.size else { return nil }
        return bytes.withUnsafeBytes { $0.loadUnaligned(as: Value.self) }
    }

    private static func bytes(_ descriptor: Int32, at offset: UInt64, count: Int) -> [UInt8] {
        guard let offset = off_t(exactly: offset) else { return [] }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, length in
            length = max(0, pread(descriptor, buffer.baseAddress, count, offset))
        }
    }
}
