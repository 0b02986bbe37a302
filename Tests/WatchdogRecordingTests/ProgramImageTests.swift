// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WatchdogRecording

@Suite("A program's image")
struct ProgramImageTests {
    private static let base: UInt64 = 0x7000_0000
    private static let entry: UInt64 = 0x40_1000

    /// A dynamic linker with one symbol, and a program's start-up code.
    private static let linker: [UInt8] = {
        var image = [UInt8](repeating: 0, count: 1024)
        func put(_ number: some FixedWidthInteger, at offset: Int) {
            withUnsafeBytes(of: number.littleEndian) { image.replaceSubrange(offset..<(offset + $0.count), with: $0) }
        }
        image.replaceSubrange(0..<7, with: [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1])
        put(UInt64(0x300), at: 24)
        put(UInt64(64), at: 32)
        put(UInt16(56), at: 54)
        put(UInt16(1), at: 56)
        // PT_DYNAMIC at 0x100, 64 bytes: DT_SYMTAB 0x180, DT_STRTAB 0x1b0, DT_STRSZ 32.
        put(UInt32(2), at: 64)
        put(UInt64(0x100), at: 64 + 16)
        put(UInt64(64), at: 64 + 40)
        for (index, pair) in [(UInt64(6), UInt64(0x180)), (5, 0x1b0), (10, 32)].enumerated() {
            put(pair.0, at: 0x100 + index * 16)
            put(pair.1, at: 0x108 + index * 16)
        }
        put(UInt32(1), at: 0x198)
        put(UInt64(0x320), at: 0x1a0)
        image.replaceSubrange(0x1b1..<0x1c0, with: Array("_dl_debug_state".utf8))
        return image
    }()

    /// `lea main(%rip), %rdi; call *...`.
    private static let code: [UInt8] =
        [0x31, 0xed, 0x48, 0x8d, 0x3d, 0x10, 0x01, 0, 0, 0xff, 0x15] + .init(repeating: 0x90, count: 64)

    private static func memory(_ linker: [UInt8], _ code: [UInt8] = Self.code) -> MemoryReader {
        MemoryReader { address, count in
            for (start, bytes) in [(base, linker), (entry, code)]
            where address >= start && address - start < UInt64(bytes.count) {
                let offset = Int(address - start)
                return offset + count <= bytes.count ? Array(bytes[offset..<(offset + count)]) : nil
            }
            return nil
        }
    }

    private static func vector(_ pairs: (UInt64, UInt64)...) -> [UInt8] {
        (pairs + [(0, 0)]).flatMap { pair in
            [pair.0, pair.1].flatMap { withUnsafeBytes(of: $0.littleEndian) { Array($0) } }
        }
    }

    @Test("Boundaries of a dynamic program are found")
    func dynamic() {
        let image = ProgramImage(
            auxiliary: Self.vector((7, Self.base), (9, Self.entry)), memory: Self.memory(Self.linker))
        #expect(image.kind == .dynamic)
        #expect(image.boundaries[.linker] == Self.base + 0x300)
        #expect(image.boundaries[.debugState] == Self.base + 0x320)
        #expect(image.boundaries[.entry] == Self.entry)
        #if arch(x86_64)
            #expect(image.boundaries[.main] == Self.entry + 9 + 0x110)
        #endif
    }

    @Test("Only the code at the entry is read for where a program starts")
    func start() {
        let vector = Self.vector((7, Self.base), (9, Self.entry))
        var addresses: [UInt64] = []
        let whole = Self.memory(Self.linker)
        let memory = MemoryReader { address, count in
            addresses.append(address)
            return whole.window(address, count).map { window in
                (0..<count).compactMap { window.integer(at: $0, as: UInt8.self) }
            }
        }
        let image = ProgramImage(startIn: vector, memory: memory)
        let known = ProgramImage(auxiliary: vector, memory: whole)
        #expect(image.kind == known.kind)
        #expect(image.boundaries == known.boundaries.filter { $0.key == .entry || $0.key == .main })
        #expect(addresses.allSatisfy { $0 == Self.entry })
        #expect(ProgramImage(startIn: [], memory: whole).boundaries == [:])
    }

    #if arch(x86_64)
        @Test("main is found in a program at a fixed address, and after musl's call")
        func startCode() {
            let fixed: [UInt8] = [0x48, 0xc7, 0xc7, 0x44, 0x33, 0x22, 0] + .init(repeating: 0x90, count: 64)
            #expect(StartCode.main(entry: Self.entry, memory: Self.memory([], fixed)) == 0x22_3344)
            let call: [UInt8] = [0xe8, 3, 0, 0, 0, 0x90, 0x90, 0x90] + fixed
            #expect(StartCode.main(entry: Self.entry, memory: Self.memory([], call)) == 0x22_3344)
            #expect(
                StartCode.main(entry: Self.entry, memory: Self.memory([], .init(repeating: 0x90, count: 80))) == nil)
        }
    #endif

    @Test("A static program has no dynamic linker")
    func withoutLinker() {
        let image = ProgramImage(auxiliary: Self.vector((9, Self.entry)), memory: Self.memory([]))
        #expect(image.kind == .static)
        #expect(image.boundaries[.linker] == nil)
    }

    @Test("No bytes of a hostile image or vector make it fail")
    func hostile() {
        for offset in Self.linker.indices {
            for value in [UInt8(0), 1, 0x7f, 0xff] {
                var linker = Self.linker
                linker[offset] = value
                let image = ProgramImage(
                    auxiliary: Self.vector((7, Self.base), (9, Self.entry)), memory: Self.memory(linker))
                #expect(image.boundaries[.entry] == Self.entry)
            }
        }
        let vector = Self.vector((3, .max), (4, 56), (5, .max), (7, .max), (9, .max))
        #expect(ProgramImage(auxiliary: vector, memory: Self.memory(Self.linker)).boundaries[.linker] == nil)
        for length in vector.indices {
            _ = ProgramImage(auxiliary: Array(vector.prefix(length)), memory: Self.memory(Self.linker))
        }
    }

    @Test("Every truncation of the dynamic linker leaves the program's own boundaries")
    func truncated() {
        for length in 0..<Self.linker.count {
            let image = ProgramImage(
                auxiliary: Self.vector((7, Self.base), (9, Self.entry)),
                memory: Self.memory(Array(Self.linker.prefix(length))))
            #expect(image.boundaries[.entry] == Self.entry)
        }
    }
}
