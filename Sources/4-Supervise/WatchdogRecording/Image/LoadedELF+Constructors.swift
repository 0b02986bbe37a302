// SPDX-License-Identifier: Apache-2.0

/// The reason why the constructors of a file are unknown.
struct ConstructorFault: Error, Equatable {
    /// The reason as a clause: "its headers are not in memory".
    let description: String
}

extension LoadedELF {
    /// elf(5), "Dynamic tags".
    private enum Tag {
        static let initial: UInt64 = 12
        static let initialArray: UInt64 = 25
        static let initialArraySize: UInt64 = 27
        static let earlyArray: UInt64 = 32
        static let earlyArraySize: UInt64 = 33
    }

    /// The addresses of its constructors, in the order in which the dynamic linker calls them.
    ///
    /// The file must have been relocated: its slots then contain addresses, regardless of the format of its
    /// relocations.
    ///
    /// - Parameter limit: the maximum number of slots to read.
    func constructors(limit: Int) throws(ConstructorFault) -> [UInt64] {
        let tags = dynamicTags()
        guard !tags.isEmpty else { throw ConstructorFault(description: "it has no dynamic section") }
        var addresses = try slots(tags[Tag.earlyArray], tags[Tag.earlyArraySize], limit)
        if let function = tags[Tag.initial], function != 0 { addresses.append(bias &+ function) }
        addresses += try slots(tags[Tag.initialArray], tags[Tag.initialArraySize], limit - addresses.count)
        guard addresses.count <= limit else { throw ConstructorFault(description: "it has more than can be timed") }
        return addresses
    }

    private func slots(_ array: UInt64?, _ size: UInt64?, _ limit: Int) throws(ConstructorFault) -> [UInt64] {
        guard let array, let size, size > 0 else { return [] }
        let count = Int(clamping: size / 8)
        guard count <= limit else { throw ConstructorFault(description: "it has more than can be timed") }
        guard count > 0, let table = memory.window(bias &+ array, count * 8) else {
            throw ConstructorFault(description: "its list of them cannot be read")
        }
        // 0 and -1 mark unused slots.
        return (0..<count).compactMap { table.integer(at: $0 * 8) }.filter { $0 != 0 && $0 != .max }
    }
}

/// Functions that compilers add to nearly every file, and that do nothing in nearly every program.
enum EmptyConstructor {
    /// Whether a function is `_init` of crti.o or `frame_dummy` of crtbegin.o, as linked by GCC and Clang.
    static func isAt(_ address: UInt64, memory: MemoryReader) -> Bool {
        #if arch(x86_64)
            guard var code = memory.window(address, 32) ?? memory.window(address, 16) else { return false }
            var next = address
            // endbr64
            if matches(code, [0xf3, 0x0f, 0x1e, 0xfa]) { (code, next) = (code.dropFirst(4), next &+ 4) }
            // _init: sub $8, %rsp; mov __gmon_start__(%rip), %rax; test %rax, %rax; je .+2; call *%rax; add $8, %rsp; ret
            let initial: [UInt8?] =
                [0x48, 0x83, 0xec, 0x08, 0x48, 0x8b, 0x05, nil, nil, nil, nil, 0x48, 0x85, 0xc0, 0x74, 0x02]
                + [0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3]
            if matches(code, initial) { return true }
            // frame_dummy: jmp register_tm_clones
            guard code.integer(at: 0, as: UInt8.self) == 0xe9, let distance: Int32 = code.integer(at: 1) else {
                return false
            }
            let target = next &+ 5 &+ UInt64(bitPattern: Int64(distance))
            guard let clones = memory.window(target, 17) else { return false }
            // lea __TMC_END__(%rip), %rdi; lea __TMC_LIST__(%rip), %rsi; sub %rdi, %rsi
            let relative: [UInt8?] =
                [0x48, 0x8d, 0x3d, nil, nil, nil, nil, 0x48, 0x8d, 0x35, nil, nil, nil, nil, 0x48, 0x29, 0xfe]
            // At a fixed address: mov $__TMC_END__, %esi; sub $__TMC_LIST__, %rsi
            let fixed: [UInt8?] = [0xbe, nil, nil, nil, nil, 0x48, 0x81, 0xee]
            return matches(clones, relative) || matches(clones, fixed)
        #else
            return false
        #endif
    }

    private static func matches(_ code: ByteWindow, _ pattern: [UInt8?]) -> Bool {
        pattern.enumerated().allSatisfy { index, byte in
            byte.map { code.integer(at: index, as: UInt8.self) == $0 } ?? (index < code.count)
        }
    }
}
