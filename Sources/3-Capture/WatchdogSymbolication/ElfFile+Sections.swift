// SPDX-License-Identifier: Apache-2.0

extension ElfFile {
    /// A part of the file with a name.
    struct Section {
        var offset: UInt64
        var size: UInt64
        /// The address without the bias.
        var address: UInt64
    }

    /// The sections of the file, by their names.
    struct Sections {
        fileprivate static let entrySize = 64

        fileprivate let table: [UInt8]
        fileprivate let names: [UInt8]

        /// The section with this name; nil if there is none.
        subscript(name: String) -> Section? {
            let wanted = Array(name.utf8) + [0]
            let index = (0..<table.count / Self.entrySize).first { index in
                let start = Int(table.integer(at: index * Self.entrySize, as: UInt32.self))
                return start < names.count && names[start...].starts(with: wanted)
            }
            return index.map { Self.section($0, in: table) }
        }

        fileprivate static func section(_ index: Int, in table: [UInt8]) -> Section {
            let base = index * entrySize
            return Section(
                offset: table.integer(at: base + 24, as: UInt64.self),
                size: table.integer(at: base + 32, as: UInt64.self),
                address: table.integer(at: base + 16, as: UInt64.self))
        }
    }

    private static let sectionLimit = 512
    private static let namesLimit = 1 << 16

    /// Reads the table of sections and their names; nil if the file has none.
    func readSections() -> Sections? {
        guard let header = file.bytes(at: 0, count: 64),
            header.integer(at: 58, as: UInt16.self) == UInt16(Sections.entrySize)
        else { return nil }
        let count = min(Int(header.integer(at: 60, as: UInt16.self)), Self.sectionLimit)
        let last = Int(header.integer(at: 62, as: UInt16.self))
        guard last < count,
            let table = file.bytes(at: header.integer(at: 40, as: UInt64.self), count: count * Sections.entrySize)
        else { return nil }
        let texts = Sections.section(last, in: table)
        let names = file.bytes(at: texts.offset, count: Int(min(texts.size, UInt64(Self.namesLimit))))
        return names.map { Sections(table: table, names: $0) }
    }

    /// `count` bytes of a section; nil unless it has all of them.
    func bytes(in section: Section, at offset: UInt64, count: Int) -> [UInt8]? {
        guard count >= 0, offset <= section.size, section.size - offset >= UInt64(count) else { return nil }
        let (place, overflows) = section.offset.addingReportingOverflow(offset)
        return overflows ? nil : file.bytes(at: place, count: count)
    }
}
