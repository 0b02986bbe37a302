// SPDX-License-Identifier: Apache-2.0

/// The parts of an ELF file that unwinding needs: segments, entry point, build ID.
///
/// Read without libelf, so that it also works for files that crash libelf or libdw. Source: System V ABI, chapter 5;
/// elf(5).
struct ElfFile {
    private struct Segment {
        var kind: UInt32
        var isExecutable: Bool
        var isWritable: Bool
        var offset: UInt64
        var address: UInt64
        var fileSize: UInt64
        var memorySize: UInt64
    }

    private enum Kind {
        static let load: UInt32 = 1
        static let note: UInt32 = 4
    }

    private static let headerSize = 64
    private static let segmentSize = 56
    private static let segmentLimit = 128
    private static let noteLimit: UInt64 = 1 << 16
    private static let pageMask: UInt64 = 4095

    let file: ImageFile
    private let segments: [Segment]
    /// What is added to an address in the file.
    let bias: UInt64
    /// The run-time address of the entry point.
    let entry: UInt64

    /// Reads the headers of the file that was mapped as `image`; nil unless it is a 64-bit ELF file for x86-64 whose
    /// segments fit the mapping.
    init?(_ file: ImageFile, mappedAs image: Image) {
        guard let header = file.bytes(at: 0, count: ElfFile.headerSize),
            header.starts(with: [0x7f, 0x45, 0x4c, 0x46, 2, 1]), header.integer(at: 18, as: UInt16.self) == 62,
            header.integer(at: 54, as: UInt16.self) == UInt16(ElfFile.segmentSize)
        else { return nil }
        let start = header.integer(at: 32, as: UInt64.self)
        let count = min(Int(header.integer(at: 56, as: UInt16.self)), ElfFile.segmentLimit)
        guard let table = file.bytes(at: start, count: count * ElfFile.segmentSize) else { return nil }
        segments = (0..<count).map { index in
            let base = index * ElfFile.segmentSize
            let flags = table.integer(at: base + 4, as: UInt32.self)
            return Segment(
                kind: table.integer(at: base, as: UInt32.self),
                isExecutable: flags & 1 != 0,
                isWritable: flags & 2 != 0,
                offset: table.integer(at: base + 8, as: UInt64.self),
                address: table.integer(at: base + 16, as: UInt64.self),
                fileSize: table.integer(at: base + 32, as: UInt64.self),
                memorySize: table.integer(at: base + 40, as: UInt64.self)
            )
        }
        let first = segments.first { $0.kind == Kind.load && $0.offset & ~ElfFile.pageMask == image.offset }
        guard let first else { return nil }
        self.file = file
        bias = image.range.lowerBound &- first.address & ~ElfFile.pageMask
        entry = header.integer(at: 24, as: UInt64.self) &+ bias
    }

    /// `count` bytes at a run-time address, from a segment that the process cannot write to.
    func bytes(at address: UInt64, count: Int, executable: Bool = false) -> [UInt8]? {
        for segment in segments where segment.kind == Kind.load && !segment.isWritable {
            guard segment.isExecutable || !executable else { continue }
            let delta = address &- bias &- segment.address
            guard delta < segment.fileSize, segment.fileSize - delta >= UInt64(count) else { continue }
            return file.bytes(at: segment.offset &+ delta, count: count)
        }
        return nil
    }

    /// Up to `limit` bytes of code, starting at a run-time address.
    func code(at address: UInt64, upTo limit: Int) -> [UInt8] {
        for segment in segments where segment.kind == Kind.load && segment.isExecutable && !segment.isWritable {
            let delta = address &- bias &- segment.address
            guard delta < segment.fileSize else { continue }
            return file.bytes(at: segment.offset &+ delta, count: Int(min(UInt64(limit), segment.fileSize - delta)))
                ?? []
        }
        return []
    }

    /// Whether a run-time address lies in code.
    func isCode(_ address: UInt64) -> Bool {
        segments.contains { segment in
            segment.kind == Kind.load && segment.isExecutable
                && address &- bias &- segment.address < segment.memorySize
        }
    }

    /// The descriptor of the note `NT_GNU_BUILD_ID`, in lower-case hexadecimal.
    var buildID: String? {
        for segment in segments where segment.kind == Kind.note {
            let size = min(segment.fileSize, ElfFile.noteLimit)
            guard let notes = file.bytes(at: segment.offset, count: Int(size)) else { continue }
            if let id = ElfFile.buildID(in: notes) { return id }
        }
        return nil
    }

    private static func buildID(in notes: [UInt8]) -> String? {
        var offset = 0
        while notes.count - offset >= 12 {
            let nameSize = Int(notes.integer(at: offset, as: UInt32.self))
            let size = Int(notes.integer(at: offset + 4, as: UInt32.self))
            let kind = notes.integer(at: offset + 8, as: UInt32.self)
            let name = offset + 12
            let content = name + (nameSize + 3) & ~3
            guard content <= notes.count, size <= notes.count - content else { return nil }
            if kind == 3, notes[name..<content].starts(with: [0x47, 0x4e, 0x55, 0]), (1...64).contains(size) {
                return hexadecimal(notes[content..<content + size])
            }
            offset = content + (size + 3) & ~3
        }
        return nil
    }

    private static func hexadecimal(_ bytes: ArraySlice<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

extension [UInt8] {
    /// A little-endian integer; the bytes must exist.
    func integer<Value: FixedWidthInteger>(at offset: Int, as type: Value.Type) -> Value {
        withUnsafeBytes { Value(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: type)) }
    }
}
