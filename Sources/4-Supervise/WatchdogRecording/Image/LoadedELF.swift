// SPDX-License-Identifier: Apache-2.0

/// An ELF file in memory.
struct LoadedELF {
    private let base: UInt64
    let memory: MemoryReader
    private let headers: [ProgramHeader]
    /// The address of its first instruction.
    let entry: UInt64

    /// Nil for anything but a 64-bit little-endian file.
    init?(at base: UInt64, memory: MemoryReader) {
        guard let header = memory.window(base, 64), header.integer(at: 0, as: UInt32.self) == 0x464c_457f,
            header.integer(at: 4, as: UInt16.self) == 0x0102, let entry: UInt64 = header.integer(at: 24),
            let table: UInt64 = header.integer(at: 32), header.integer(at: 54, as: UInt16.self) == 56,
            let count: UInt16 = header.integer(at: 56)
        else { return nil }
        self.base = base
        self.memory = memory
        self.entry = base &+ entry
        headers = ProgramHeader.all(at: base &+ table, count: Int(count), memory)
    }

    /// The load bias: the offset from addresses in the file to those in memory; 0 for a program at a fixed address.
    var bias: UInt64 {
        let first = headers.filter { $0.kind == ProgramHeader.load }.min { $0.offset < $1.offset }
        return base &- ((first?.address ?? 0) &- (first?.offset ?? 0))
    }

    /// The address of a dynamic symbol; stripped files have these, too.
    ///
    /// Only for a file that has not relocated itself yet, such as the dynamic linker after execve(2).
    func symbol(_ name: String) -> UInt64? {
        let tags = dynamicTags()
        // DT_STRTAB, DT_SYMTAB, DT_STRSZ. All linkers place the string table right after the symbol table, which
        // determines the number of symbols.
        guard let strings = tags[5], let symbols = tags[6], let length = tags[10], strings > symbols,
            let names = memory.window(base &+ strings, Int(clamping: min(length, 1 << 20))),
            let table = memory.window(base &+ symbols, Int(clamping: min(strings - symbols, 24 * 8192)))
        else { return nil }
        for offset in stride(from: 0, through: table.count - 24, by: 24) {
            guard let nameOffset: UInt32 = table.integer(at: offset), let value: UInt64 = table.integer(at: offset + 8),
                value != 0, names.text(at: Int(nameOffset), limit: 64) == name
            else { continue }
            return base &+ value
        }
        return nil
    }

    /// The entries of the dynamic section by their tags: elf(5), Elf64_Dyn.
    func dynamicTags() -> [UInt64: UInt64] {
        guard let header = headers.first(where: { $0.kind == ProgramHeader.dynamic }),
            let table = memory.window(bias &+ header.address, Int(clamping: min(header.length, 16 << 10)))
        else { return [:] }
        var tags: [UInt64: UInt64] = [:]
        for offset in stride(from: 0, through: table.count - 16, by: 16) {
            guard let tag: UInt64 = table.integer(at: offset), tag != 0 else { break }
            tags[tag] = tags[tag] ?? table.integer(at: offset + 8)
        }
        return tags
    }
}

/// Finds `main` in a stripped program: the startup code passes its address to `__libc_start_main`.
enum StartCode {
    /// The address in the first argument's register at the first call; nil for other code, such as Go's startup code.
    static func main(entry: UInt64, memory: MemoryReader) -> UInt64? {
        #if arch(x86_64)
            var address = entry
            // musl's _start calls _start_c, which loads main.
            for _ in 0..<2 {
                guard let code = memory.window(address, 64) ?? memory.window(address, 32) else { return nil }
                switch scan(code, at: address) {
                case .main(let main): return main
                case .call(let target): address = target
                case .nothing: return nil
                }
            }
        #endif
        return nil
    }

    private enum Finding {
        case main(UInt64)
        case call(UInt64)
        case nothing
    }

    private static func scan(_ code: ByteWindow, at address: UInt64) -> Finding {
        for offset in 0..<48 {
            guard let opcode: UInt32 = code.integer(at: offset) else { return .nothing }
            let next = address &+ UInt64(offset)
            // lea d(%rip), %rdi
            if opcode & 0xff_ffff == 0x3d_8d48, let distance: Int32 = code.integer(at: offset + 3) {
                return .main(next &+ 7 &+ UInt64(bitPattern: Int64(distance)))
            }
            // mov $d, %rdi
            if opcode & 0xff_ffff == 0xc7_c748, let value: UInt32 = code.integer(at: offset + 3) {
                return .main(UInt64(value))
            }
            // call d(%rip), of __libc_start_main or _start_c
            if opcode & 0xff == 0xe8, let distance: Int32 = code.integer(at: offset + 1) {
                return .call(next &+ 5 &+ UInt64(bitPattern: Int64(distance)))
            }
        }
        return .nothing
    }
}
