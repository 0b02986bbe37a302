// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import WatchdogSymbolication

@Suite("ELF files", .reapsChildren)
struct ElfFileTests {
    private static let image = Image(range: 0x7000_0000..<0x7000_3000, path: "/x", inode: 1, offset: 0)

    private struct Segment {
        var kind: UInt32 = 1
        var flags: UInt32 = 5
        var offset: UInt64
        var address: UInt64
        var size: UInt64
    }

    /// Headers, then bytes that are their own offsets modulo 256.
    private func file(_ segments: [Segment], notes: [UInt8] = [], entry: UInt64 = 0x1010) -> [UInt8] {
        var bytes: [UInt8] = [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 62, 0, 1, 0, 0, 0]
        func append<Value: FixedWidthInteger>(_ value: Value) {
            withUnsafeBytes(of: value.littleEndian) { bytes += $0 }
        }
        append(entry)
        append(UInt64(64))
        append(UInt64(0))
        append(UInt32(0))
        for value: UInt16 in [64, 56, UInt16(segments.count), 64, 0, 0] { append(value) }
        for segment in segments {
            append(segment.kind)
            append(segment.flags)
            for value in [segment.offset, segment.address, 0, segment.size, segment.size, 0x1000] { append(value) }
        }
        while bytes.count < 0x400 { bytes.append(UInt8(truncatingIfNeeded: bytes.count)) }
        bytes += notes
        while bytes.count < 0x2000 { bytes.append(UInt8(truncatingIfNeeded: bytes.count)) }
        return bytes
    }

    private func parse(_ bytes: [UInt8]) -> ElfFile? {
        ElfFile(ImageFile(bytes: bytes[...]), mappedAs: ElfFileTests.image)
    }

    @Test("are found in memory by their segments")
    func segments() throws {
        let code = Segment(offset: 0, address: 0x1000, size: 0x2000)
        let file = try #require(parse(file([code])))
        #expect(file.entry == 0x7000_0010)
        #expect(file.bytes(at: 0x7000_0500, count: 3) == [0, 1, 2])
        #expect(file.bytes(at: 0x7000_1ffe, count: 2) == [0xfe, 0xff])
        #expect(file.bytes(at: 0x7000_1fff, count: 2) == nil)
        #expect(file.bytes(at: 0x6fff_ffff, count: 1) == nil)
        #expect(file.code(at: 0x7000_1ffe, upTo: 100) == [0xfe, 0xff])
        #expect(file.isCode(0x7000_0000))
        #expect(!file.isCode(0x7000_2000))
    }

    @Test("are constant in memory that the process cannot write")
    func writable() throws {
        let data = Segment(flags: 6, offset: 0, address: 0, size: 0x2000)
        let file = try #require(parse(file([data])))
        #expect(file.bytes(at: 0x7000_0500, count: 3) == nil)
        #expect(file.code(at: 0x7000_0500, upTo: 3) == [])
    }

    @Test("have a build-id in a note, or none")
    func buildID() throws {
        let code = Segment(offset: 0, address: 0, size: 0x2000)
        let note = Segment(kind: 4, flags: 4, offset: 0x400, address: 0x400, size: 0x40)
        let other: [UInt8] = [4, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0x47, 0x4e, 0x55, 0, 1, 2, 0, 0]
        let id: [UInt8] = [4, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 0x47, 0x4e, 0x55, 0, 0xde, 0xad, 0xbe, 0x0f]
        #expect(parse(file([code, note], notes: other + id))?.buildID == "deadbe0f")
        #expect(parse(file([code], notes: id))?.buildID == nil)
        #expect(parse(file([code, note], notes: [4, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 3, 0, 0, 0]))?.buildID == nil)
        #expect(parse(file([code, note], notes: [0xff, 0xff, 0xff, 0xff, 4, 0, 0, 0, 3, 0, 0, 0]))?.buildID == nil)
    }

    @Test("may have absurd segments")
    func absurd() throws {
        let values: [UInt64] = [0, 0xfff, 0x1000, 1 << 63, .max, .max - 0xfff]
        for offset in values {
            for size in values {
                for address in values {
                    let wild = Segment(offset: offset, address: address, size: size)
                    let note = Segment(kind: 4, flags: 4, offset: offset, address: address, size: size)
                    let first = Segment(offset: 0, address: 0, size: 0x10)
                    guard let file = parse(file([first, wild, note])) else { continue }
                    for probe: UInt64 in [0, 0x7000_0000, 0x7000_1000, .max, 1 << 63] {
                        #expect((file.bytes(at: probe, count: 8)?.count ?? 8) == 8)
                        #expect(file.code(at: probe, upTo: 64).count <= 64)
                        _ = file.isCode(probe)
                    }
                    _ = file.buildID
                }
            }
        }
    }

    @Test("files of other kinds are rejected")
    func refused() {
        let code = Segment(offset: 0, address: 0, size: 0x2000)
        let good = file([code])
        for (index, byte): (Int, UInt8) in [(0, 0), (4, 1), (5, 2), (18, 3), (54, 32)] {
            var bad = good
            bad[index] = byte
            #expect(parse(bad)?.entry == nil)
        }
        #expect(parse([])?.entry == nil)
        #expect(parse(Array(good.prefix(100)))?.entry == nil)
        #expect(parse(file([Segment(offset: 0x1000, address: 0, size: 1)]))?.entry == nil)
    }
}
