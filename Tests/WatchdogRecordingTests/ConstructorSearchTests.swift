// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WatchdogRecording

@Suite("The search for constructors")
struct ConstructorSearchTests {
    /// A file in memory: headers, a dynamic section, and code.
    private struct File {
        static let size = 0x2000

        var base: UInt64 = 0x7000_0000
        /// The address of its beginning in the file: not 0 in a program at a fixed address.
        var linked: UInt64 = 0
        var path = "/lib/liblog.so"
        var bytes = [UInt8](repeating: 0, count: size)

        init(base: UInt64 = 0x7000_0000, linked: UInt64 = 0, path: String = "/lib/liblog.so") {
            (self.base, self.linked, self.path) = (base, linked, path)
            bytes.replaceSubrange(0..<7, with: [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1])
            put(UInt64(64), at: 32)
            put(UInt16(56), at: 54)
            put(UInt16(2), at: 56)
            header(0, kind: 1, at: 0, length: UInt64(Self.size))
            header(1, kind: 2, at: 0x100, length: 0x100)
        }

        mutating func put(_ number: some FixedWidthInteger, at offset: Int) {
            withUnsafeBytes(of: number.littleEndian) { bytes.replaceSubrange(offset..<(offset + $0.count), with: $0) }
        }

        private mutating func header(_ index: Int, kind: UInt32, at offset: UInt64, length: UInt64) {
            put(kind, at: 64 + index * 56)
            put(offset, at: 64 + index * 56 + 8)
            put(linked + offset, at: 64 + index * 56 + 16)
            put(length, at: 64 + index * 56 + 40)
        }

        /// The dynamic section: elf(5).
        mutating func dynamic(_ tags: [(tag: UInt64, value: UInt64)]) {
            for (index, entry) in tags.enumerated() {
                put(entry.tag, at: 0x100 + index * 16)
                put(entry.value, at: 0x108 + index * 16)
            }
        }

        /// Its list of constructors at 0x300; slots hold addresses.
        mutating func list(_ offsets: [UInt64]) {
            dynamic([(25, linked + 0x300), (27, UInt64(offsets.count * 8))])
            for (index, offset) in offsets.enumerated() { put(base + offset, at: 0x300 + index * 8) }
        }

        mutating func code(_ code: [UInt8], at offset: Int) {
            bytes.replaceSubrange(offset..<(offset + code.count), with: code)
        }

        /// The headers, and the code from 0x1000.
        var segments: [MappedSegment] {
            let middle = base + 0x1000
            return [
                MappedSegment(range: base..<middle, offset: 0, inode: 5, path: path, isExecutable: false),
                MappedSegment(
                    range: middle..<(base + UInt64(Self.size)), offset: 0x1000, inode: 5, path: path,
                    isExecutable: true),
            ]
        }
    }

    private func search(_ files: File...) -> ConstructorSearch {
        let memory = MemoryReader { address, count in
            for file in files where address >= file.base && address - file.base < UInt64(file.bytes.count) {
                let offset = Int(address - file.base)
                return offset + count <= file.bytes.count ? Array(file.bytes[offset..<(offset + count)]) : nil
            }
            return nil
        }
        return ConstructorSearch(files.flatMap(\.segments), memory: memory)
    }

    private func offsets(_ search: ConstructorSearch) -> [UInt64] { search.places.map(\.offset) }

    @Test("finds the early, the initial and the listed ones, in execution order")
    func order() {
        var file = File()
        file.dynamic([(27, 16), (25, 0x300), (12, 0x1010), (32, 0x340), (33, 8)])
        file.put(file.base + 0x1020, at: 0x300)
        file.put(file.base + 0x1030, at: 0x308)
        file.put(file.base + 0x1040, at: 0x340)
        let found = search(file)
        #expect(offsets(found) == [0x1040, 0x1010, 0x1020, 0x1030])
        #expect(found.places.map(\.fileOffset) == [0x1040, 0x1010, 0x1020, 0x1030])
        #expect(found.places.allSatisfy { $0.segment == file.segments[1] })
        #expect(found.gaps == [])
    }

    @Test("finds those of a program at a fixed address")
    func fixed() {
        var file = File(base: 0x40_0000, linked: 0x40_0000, path: "/bin/app")
        file.list([0x1100])
        #expect(offsets(search(file)) == [0x1100])
    }

    @Test("finds each once, and skips unused slots")
    func slots() {
        var file = File()
        file.list([0x1100, 0x1100, 0, 0, 0x1200])
        file.put(UInt64(0), at: 0x310)
        file.put(UInt64.max, at: 0x318)
        #expect(offsets(search(file)) == [0x1100, 0x1200])
    }

    @Test("searches all files, even one without constructors")
    func files() {
        var first = File()
        first.list([0x1100])
        var second = File(base: 0x7100_0000, path: "/lib/libother.so")
        second.list([0x1800])
        var third = File(base: 0x7200_0000, path: "/lib/libnone.so")
        third.dynamic([(5, 1)])
        let found = search(first, second, third)
        #expect(found.places.map(\.segment.path) == ["/lib/liblog.so", "/lib/libother.so"])
        #expect(found.gaps == [])
    }

    #if arch(x86_64)
        @Test("omits the functions that compilers add to every file, but not a jump elsewhere")
        func empty() {
            var file = File()
            file.list([0x1100, 0x1200, 0x1300])
            file.dynamic([(12, 0x1000), (25, 0x300), (27, 24)])
            let initial: [UInt8] =
                [0x48, 0x83, 0xec, 0x08, 0x48, 0x8b, 0x05, 1, 2, 3, 4, 0x48, 0x85, 0xc0, 0x74, 0x02, 0xff, 0xd0]
                + [0x48, 0x83, 0xc4, 0x08, 0xc3]
            file.code(initial, at: 0x1000)
            // endbr64; jmp 0x1080
            file.code([0xf3, 0x0f, 0x1e, 0xfa, 0xe9, 0x77, 0xff, 0xff, 0xff], at: 0x1100)
            file.code([0x48, 0x8d, 0x3d, 1, 2, 3, 4, 0x48, 0x8d, 0x35, 5, 6, 7, 8, 0x48, 0x29, 0xfe], at: 0x1080)
            // jmp 0x1400
            file.code([0xe9, 0xfb, 0x01, 0, 0], at: 0x1200)
            #expect(offsets(search(file)) == [0x1200, 0x1300])
        }
    #endif

    @Test("reports why a file's constructors are unknown")
    func gaps() {
        var stray = File()
        stray.list([0x1100, 0x9_0000])
        let found = search(stray)
        #expect(offsets(found) == [0x1100])
        #expect(found.gaps == [.init(path: "/lib/liblog.so", reason: "1 of them is in no file")])
        var damaged = File()
        damaged.dynamic([(25, 0x90_0000), (27, 8)])
        #expect(search(damaged).gaps.map(\.reason) == ["its list of them cannot be read"])
        var many = File()
        many.dynamic([(25, 0x300), (27, UInt64(ConstructorSearch.limit + 1) * 8)])
        #expect(search(many).gaps.map(\.reason) == ["it has more than can be timed"])
        var other = File()
        other.bytes[4] = 1
        #expect(search(other).gaps.map(\.reason) == ["its headers are not those of a 64-bit ELF file"])
        var bare = File()
        bare.put(UInt16(1), at: 56)
        #expect(search(bare).gaps.map(\.reason) == ["it has no dynamic section"])
        let part = ConstructorSearch([stray.segments[1]], memory: MemoryReader { _, _ in nil })
        #expect(part.gaps.map(\.reason) == ["its headers are not in memory"])
    }

    @Test("reads a hostile program's lists only up to a limit, even if nothing in them is a constructor")
    func bounded() {
        let files = (0..<10).map { index in
            var file = File(base: 0x7000_0000 + UInt64(index) << 20, path: "/lib/lib\(index).so")
            file.list(Array(repeating: 0x9_0000, count: 900))
            return file
        }
        let memory = MemoryReader { address, count in
            guard let file = files.first(where: { $0.base >> 20 == address >> 20 }) else { return nil }
            let offset = Int(address - file.base)
            return offset + count <= file.bytes.count ? Array(file.bytes[offset..<(offset + count)]) : nil
        }
        let search = ConstructorSearch(files.flatMap(\.segments), memory: memory)
        #expect(search.places == [])
        let stray = Array(repeating: "900 of them are in no file", count: 4)
        #expect(search.gaps.map(\.reason) == stray + Array(repeating: "it has more than can be timed", count: 6))
    }

    @Test("succeeds for any bytes of a hostile file, and yields no place outside of the code")
    func hostile() {
        var file = File()
        file.dynamic([(12, 0x1010), (25, 0x300), (27, 16), (32, 0x340), (33, 8)])
        file.put(file.base + 0x1020, at: 0x300)
        for offset in 0..<0x350 {
            for value in [UInt8(0), 1, 0x7f, 0xff] {
                var changed = file
                changed.bytes[offset] = value
                for place in search(changed).places {
                    #expect(place.segment.range.contains(changed.base &+ place.offset))
                    #expect((0x1000..<0x2000).contains(place.fileOffset))
                }
            }
        }
        for length in stride(from: 0, to: file.bytes.count, by: 24) {
            var cut = file
            cut.bytes = Array(file.bytes.prefix(length))
            _ = search(cut)
        }
    }
}
