// SPDX-License-Identifier: Apache-2.0

/// Core files unlike any that a kernel writes.
struct CoreBuilder {
    struct Segment {
        var start: UInt64
        var size: UInt64 = 4_096
        /// PF_R, PF_W, PF_X.
        var flags: UInt32 = 5
        var bytes: [UInt8] = []
    }

    struct Mapping {
        var start: UInt64
        var end: UInt64
        var page: UInt64 = 0
        var path: [UInt8]
    }

    var process: Int32 = 4_711
    var name = Array("photos".utf8)
    var threads: [Int32] = [4_711]
    var segments: [Segment] = []
    var mappings: [Mapping] = []
    /// Notes after those that every core has.
    var moreNotes: [UInt8] = []
    /// The number of note segments, each with all notes: the same bytes of the file.
    var noteSegments = 1

    /// Adds an executable mapping of a file, with the core's copy of it.
    mutating func map(_ path: [UInt8], at start: UInt64 = 0x40_0000, bytes: [UInt8]) {
        segments.append(Segment(start: start, bytes: bytes))
        mappings.append(Mapping(start: start, end: start + 4_096, path: path))
    }

    static func note(_ type: UInt32, _ content: [UInt8]) -> [UInt8] {
        var bytes = word(5) + word(UInt32(content.count)) + word(type) + Array("CORE\0\0\0\0".utf8) + content
        bytes += [UInt8](repeating: 0, count: -bytes.count & 3)
        return bytes
    }

    static func thread(_ id: Int32) -> [UInt8] {
        // NT_PRSTATUS: pr_pid at 32, the registers from 112 on.
        var status = [UInt8](repeating: 0, count: 336)
        status.replaceSubrange(32..<36, with: word(UInt32(bitPattern: id)))
        return note(1, status)
    }

    private var notes: [UInt8] {
        // NT_PRPSINFO: user at 16, process at 24, parent at 28, name at 40.
        var info = [UInt8](repeating: 0, count: 136)
        info.replaceSubrange(24..<28, with: Self.word(UInt32(bitPattern: process)))
        info.replaceSubrange(40..<40 + min(name.count, 15), with: name.prefix(15))
        var files = Self.long(UInt64(mappings.count)) + Self.long(4_096)
        for mapping in mappings { files += Self.long(mapping.start) + Self.long(mapping.end) + Self.long(mapping.page) }
        for mapping in mappings { files += mapping.path + [0] }
        return threads.prefix(1).flatMap(Self.thread) + Self.note(3, info) + Self.note(0x4649_4C45, files)
            + threads.dropFirst().flatMap(Self.thread) + moreNotes
    }

    var bytes: [UInt8] {
        let notes = notes
        let count = noteSegments + segments.count
        let start = 64 + 56 * count
        var header: [UInt8] = [0x7F] + Array("ELF".utf8) + [2, 1, 1] + [UInt8](repeating: 0, count: 9)
        header += [4, 0, 62, 0] + Self.word(1) + Self.long(0) + Self.long(64) + Self.long(0) + Self.word(0)
        // PN_XNUM: too many; section 0 has the number, at its offset 44.
        let number = min(count, 0xFFFF)
        header += [64, 0, 56, 0] + [UInt8(number & 0xFF), UInt8(number >> 8)] + [64, 0, 0, 0, 0, 0]
        for _ in 0..<noteSegments { header += Self.header(4, 0, UInt64(start), 0, UInt64(notes.count), 0) }
        var content = notes
        for segment in segments {
            header += Self.header(
                1, segment.flags, UInt64(start + content.count), segment.start, UInt64(segment.bytes.count),
                segment.size)
            content += segment.bytes
        }
        header.replaceSubrange(40..<48, with: Self.long(UInt64(start + content.count)))
        var section = [UInt8](repeating: 0, count: 64)
        section.replaceSubrange(44..<48, with: Self.word(UInt32(count)))
        return header + content + section
    }

    private static func header(
        _ type: UInt32, _ flags: UInt32, _ offset: UInt64, _ address: UInt64, _ fileSize: UInt64, _ size: UInt64
    ) -> [UInt8] {
        word(type) + word(flags) + long(offset) + long(address) + long(0) + long(fileSize) + long(size) + long(0)
    }

    private static func word(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.littleEndian, Array.init) }
    private static func long(_ value: UInt64) -> [UInt8] { withUnsafeBytes(of: value.littleEndian, Array.init) }
}
