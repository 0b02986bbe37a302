// SPDX-License-Identifier: Apache-2.0

extension ElfFile {
    /// A part of the file with a name.
    struct Section {
        var offset: UInt64
        var size: UInt64
        /// The address without the bias.
        var address: UInt64
    }

    private static let sectionSize = 64
    private static let sectionLimit = 512
    private static let namesLimit = 1 << 16

    /// The section with this name; nil if there is none.
    func section(_ name: String) -> Section? {
        guard let header = file.bytes(at: 0, count: 64),
            header.integer(at: 58, as: UInt16.self) == UInt16(Self.sectionSize)
        else { return nil }
        let count = min(Int(header.integer(at: 60, as: UInt16.self)), Self.sectionLimit)
        let last = Int(header.integer(at: 62, as: UInt16.self))
        guard last < count,
            let table = file.bytes(at: header.integer(at: 40, as: UInt64.self), count: count * Self.sectionSize)
        else { return nil }
        func section(_ index: Int) -> Section {
            let base = index * Self.sectionSize
            return Section(
                offset: table.integer(at: base + 24, as: UInt64.self),
                size: table.integer(at: base + 32, as: UInt64.self),
                address: table.integer(at: base + 16, as: UInt64.self))
        }
        let texts = section(last)
        guard let names = file.bytes(at: texts.offset, count: Int(min(texts.size, UInt64(Self.namesLimit)))) else {
            return nil
        }
        let wanted = Array(name.utf8) + [0]
        let index = (0..<count).first { index in
            let start = Int(table.integer(at: index * Self.sectionSize, as: UInt32.self))
            return start < names.count && names[start...].starts(with: wanted)
        }
        return index.map(section)
    }

    /// `count` bytes of a section; nil unless it has all of them.
    func bytes(in section: Section, at offset: UInt64, count: Int) -> [UInt8]? {
        guard count >= 0, offset <= section.size, section.size - offset >= UInt64(count) else { return nil }
        let (place, overflows) = section.offset.addingReportingOverflow(offset)
        return overflows ? nil : file.bytes(at: place, count: count)
    }
}
