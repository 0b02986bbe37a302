// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import WatchdogSymbolication

@Suite("Go's own table of functions", .reapsChildren)
struct GoFunctionTableTests {
    private static let image = Image(range: 0x7000_0000..<0x7000_3000, path: "/x", inode: 1, offset: 0)

    private static func bytes<Value: FixedWidthInteger>(_ values: Value...) -> [UInt8] {
        values.flatMap { value in withUnsafeBytes(of: value.littleEndian) { Array($0) } }
    }

    /// The table of `_rt0_amd64_linux` at 0x10 of the code, and of `main.transfer` from 0x40 to 0x80: lines 12 and, from
    /// 0x50 on, 14; an inlined call from 0x60 to 0x70.
    private static func table(magic: UInt32 = 0xffff_fff1, text: UInt64 = 0, count: UInt64 = 2) -> [UInt8] {
        let size: UInt32 = magic == 0xffff_fff1 ? 44 : 40
        let names = Array("_rt0_amd64_linux\0main.transfer\0".utf8)
        let files = Array("/src/bank.go\0".utf8)
        // 0: none. 1: the file 0. 5: lines 12 and 14. 12: calls -1, 0, -1.
        let programs: [UInt8] = [
            0, 2, 0x40, 0, 0, 2 * 13, 0x10, 4, 0x30, 0, 0, 0, 0, 0x20, 2, 0x10, 1, 0x10, 0,
        ]
        func record(_ start: UInt32, name: UInt32, tables: UInt32) -> [UInt8] {
            let lines = tables > 0
            return bytes(start, name, 0, 0, 0, lines ? 1 : 0, lines ? 5 : 0, tables, 0)
                + [UInt8](repeating: 0, count: Int(size) - 36) + (lines ? bytes(UInt32(0), 0, 12) : [])
        }
        let first: UInt32 = 20
        let functions =
            bytes(UInt32(0x10), first, 0x40, first + size, 0x80) + record(0x10, name: 0, tables: 0)
            + record(0x40, name: 17, tables: 3)
        let places = [names, bytes(UInt32(0)), files, programs, functions]
        var offsets: [UInt64] = [72]
        for place in places { offsets.append((offsets[offsets.count - 1] + UInt64(place.count) + 7) & ~7) }
        var table = bytes(magic) + [0, 0, 1, 8] + bytes(count, 1, text) + offsets.prefix(5).flatMap { bytes($0) }
        for (place, end) in zip(places, offsets.dropFirst()) {
            table += place
            table += [UInt8](repeating: 0, count: Int(end) - table.count)
        }
        return table
    }

    /// A file with code at 0x1000, an entry point and a table.
    private static func file(_ table: [UInt8], name: String = ".gopclntab", entry: UInt64 = 0x1010) -> ElfFile? {
        let names = Array("\0.text\0\(name)\0".utf8)
        let (code, tableStart) = (UInt64(0x400), UInt64(0x800))
        let namesStart = tableStart + UInt64(table.count)
        var bytes: [UInt8] = [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 62, 0, 1, 0, 0, 0]
        bytes += Self.bytes(entry, 64, namesStart + UInt64(names.count)) + Self.bytes(UInt32(0))
        bytes += Self.bytes(UInt16(64), 56, 1, 64, 4, 3)
        bytes += Self.bytes(UInt32(1), 5) + Self.bytes(UInt64(0), 0, 0, 0x4000, 0x4000, 0x1000)
        bytes += [UInt8](repeating: 0, count: Int(tableStart) - bytes.count) + table + names
        let sections: [(UInt32, UInt64, UInt64, Int)] = [
            (0, 0, 0, 0), (1, 0x1000, code, 0x400), (7, 0x1400, tableStart, table.count),
            (0, 0, namesStart, names.count),
        ]
        for (name, address, offset, size) in sections {
            bytes += Self.bytes(name, 1) + Self.bytes(UInt64(0), address, offset, UInt64(size))
            bytes += [UInt8](repeating: 0, count: 24)
        }
        return ElfFile(ImageFile(bytes: bytes[...]), mappedAs: image)
    }

    /// Where address 0x1000 of the file is.
    private static let code: UInt64 = 0x7000_1000

    @Test(
        "names functions and lines, in an inlined call that at which the function begins",
        arguments: [UInt32(0xffff_fff0), 0xffff_fff1], [".gopclntab", ".data.rel.ro.gopclntab"])
    func names(magic: UInt32, section: String) throws {
        let file = try #require(Self.file(Self.table(magic: magic), name: section))
        let table = try #require(GoFunctionTable(file))
        let start = try #require(table.lookUp(Self.code + 0x10))
        #expect(start.name == "_rt0_amd64_linux" && start.location == nil)
        for (offset, line) in [(0x40, 12), (0x4f, 12), (0x50, 14), (0x5f, 14), (0x70, 14), (0x7f, 14)]
            as [(UInt64, Int)]
        {
            let found = try #require(table.lookUp(Self.code + offset))
            #expect(found.name == "main.transfer" && found.start == Self.code + 0x40)
            #expect(found.location == SourceLocation(path: "/src/bank.go", line: line), "\(offset)")
        }
        let inlined = try #require(table.lookUp(Self.code + 0x60))
        #expect(inlined.name == "main.transfer" && inlined.location?.line == 12)
        #expect(table.lookUp(Self.code + 0x0f) == nil && table.lookUp(Self.code + 0x80) == nil)
        #expect(table.lookUp(0) == nil && table.lookUp(.max) == nil)
    }

    @Test("is used with the address that it states, or else only if it names the entry point")
    func text() throws {
        let stated = try #require(Self.file(Self.table(text: 0x1020), entry: 0x1000).flatMap(GoFunctionTable.init))
        #expect(stated.lookUp(Self.code + 0x60)?.name == "main.transfer")
        #expect(Self.file(Self.table(), entry: 0x1050).flatMap(GoFunctionTable.init) == nil)
    }

    @Test("is ignored, or names nothing, if it is damaged", arguments: 0..<600)
    func damaged(position: Int) throws {
        let whole = Self.table()
        guard position < whole.count else { return }
        for value: UInt8 in [0, 0x7f, 0x80, 0xff] {
            var bytes = whole
            bytes[position] = value
            let table = Self.file(bytes).flatMap(GoFunctionTable.init)
            for offset in stride(from: UInt64(0), to: 0x90, by: 8) {
                let name = table?.lookUp(Self.code + offset)?.name ?? ""
                #expect(name.utf8.count <= 1_024)
            }
        }
        let cut = Self.file(Array(whole.prefix(position))).flatMap(GoFunctionTable.init)
        #expect((cut?.lookUp(Self.code + 0x50)?.location?.line ?? 14) == 14)
    }
}
