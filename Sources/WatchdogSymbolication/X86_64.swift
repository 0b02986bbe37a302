// SPDX-License-Identifier: Apache-2.0

/// What unwinding has to know of x86-64: registers, calls, and how functions begin and end.
///
/// Source: System V psABI for AMD64, sections 3.2 and 3.36; Intel SDM volume 2.
enum X86_64 {
    /// DWARF numbers, which are also the first indices of the snapshot's registers.
    enum Register {
        static let rax = 0
        static let rdx = 1
        static let rcx = 2
        static let rbx = 3
        static let rsi = 4
        static let rdi = 5
        static let rbp = 6
        static let rsp = 7
        static let r12 = 12
        static let r13 = 13
        static let r14 = 14
        static let r15 = 15
        static let rip = 16
    }

    /// As Apple's tools spell it.
    static let name = "x86_64"
    static let registerCount = 17
    static let calleeSaved = [Register.rbx, Register.rbp, Register.r12, Register.r13, Register.r14, Register.r15]
    /// Swift's asynchronous functions keep their AsyncContext here across calls (swiftasynccc).
    static let asyncContext = Register.r14
    /// The stack pointer plus 8 is a multiple of this at every function's entry.
    static let stackAlignment: UInt64 = 16

    /// How the instruction before a return address calls.
    enum Call: Equatable {
        case direct(target: UInt64)
        case indirect
    }

    /// Bytes that ``call(before:bytes:)`` wants.
    static let longestCall = 8

    /// The call that ends at `address`, given the bytes before it; nil when there is none.
    static func call(before address: UInt64, bytes: [UInt8]) -> Call? {
        let end = bytes.count
        if end >= 5, bytes[end - 5] == 0xe8 {
            let distance = bytes.suffix(4).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            return .direct(target: address &+ UInt64(bitPattern: Int64(Int32(bitPattern: distance))))
        }
        // FF /2: call r/m64, of 2 to 7 bytes by its ModRM and SIB bytes; a prefix before it changes nothing here.
        for length in 2...7 where length <= end {
            guard bytes[end - length] == 0xff else { continue }
            let addressing = bytes[end - length + 1]
            guard addressing & 0x38 == 0x10 else { continue }
            if operandLength(addressing, next: length > 2 ? bytes[end - length + 2] : 0) == length - 1 {
                return .indirect
            }
        }
        return nil
    }

    /// Bytes of ModRM, SIB and displacement.
    private static func operandLength(_ addressing: UInt8, next: UInt8) -> Int {
        let mode = addressing >> 6
        let base = addressing & 7
        if mode == 3 { return 1 }
        let hasIndex = base == 4
        switch mode {
        case 0: return base == 5 || hasIndex && next & 7 == 5 ? (hasIndex ? 6 : 5) : hasIndex ? 2 : 1
        case 1: return hasIndex ? 3 : 2
        default: return hasIndex ? 6 : 5
        }
    }

    /// True when the code jumps on at once: an entry of a procedure linkage table, or a tail call and nothing else.
    static func isTrampoline(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        if rest.starts(with: [0xf3, 0x0f, 0x1e, 0xfa]) { rest = rest.dropFirst(4) }  // endbr64
        if rest.first == 0xf2 { rest = rest.dropFirst() }  // bnd
        return rest.starts(with: [0xff, 0x25]) || rest.starts(with: [0xe9])
    }
}

// MARK: - Prologues and epilogues

extension X86_64 {
    /// What a function's first instructions put on the stack.
    struct Prologue: Equatable {
        /// Registers in the order of their pushes.
        var pushed: [Int] = []
        /// Bytes reserved below the pushes.
        var reserved: UInt64 = 0
        /// `rbp` holds the address of its own saved value.
        var setsFramePointer = false
    }

    /// Bytes that ``prologue(of:)`` wants at most.
    static let longestPrologue = 64

    /// Reads a prologue from the code between the function's start and the program counter.
    static func prologue(of code: [UInt8]) -> Prologue {
        var prologue = Prologue()
        var cursor = Cursor(code)
        while prologue.pushed.count < 8 {
            if cursor.skip(0xf3, 0x0f, 0x1e, 0xfa) { continue }  // endbr64
            if let register = cursor.push() {
                prologue.pushed.append(register)
            } else if cursor.skip(0x48, 0x89, 0xe5) || cursor.skip(0x48, 0x8b, 0xec) {  // mov rbp, rsp
                guard prologue.pushed == [Register.rbp] else { break }
                prologue.setsFramePointer = true
            } else if cursor.skip(0x48, 0x83, 0xec) {  // sub rsp, imm8
                guard let amount = cursor.byte(), amount < 0x80 else { break }
                prologue.reserved = UInt64(amount)
                break
            } else if cursor.skip(0x48, 0x81, 0xec) {  // sub rsp, imm32
                guard let amount = cursor.word32(), amount < 0x8000_0000 else { break }
                prologue.reserved = UInt64(amount)
                break
            } else if !cursor.skipRegisterMove() {
                break
            }
        }
        return prologue
    }

    /// Bytes that ``epilogue(of:)`` wants at most.
    static let longestEpilogue = 32

    /// What is left of an epilogue: bytes to drop from the stack, then registers to pop, then a return.
    struct Epilogue: Equatable {
        var dropped: UInt64 = 0
        var popped: [Int] = []
        /// `mov rsp, rbp; pop rbp`.
        var leaves = false
    }

    /// Reads an epilogue that begins at the program counter; nil when the code does anything but return.
    static func epilogue(of code: [UInt8]) -> Epilogue? {
        var epilogue = Epilogue()
        var cursor = Cursor(code)
        if cursor.skip(0x48, 0x83, 0xc4) {  // add rsp, imm8
            guard let amount = cursor.byte(), amount < 0x80 else { return nil }
            epilogue.dropped = UInt64(amount)
        } else if cursor.skip(0x48, 0x81, 0xc4) {  // add rsp, imm32
            guard let amount = cursor.word32(), amount < 0x8000_0000 else { return nil }
            epilogue.dropped = UInt64(amount)
        } else if cursor.skip(0xc9) {  // leave
            epilogue.leaves = true
        }
        while !epilogue.leaves, epilogue.popped.count < 8, let register = cursor.pop() {
            epilogue.popped.append(register)
        }
        return cursor.skip(0xc3) || cursor.skip(0xf3, 0xc3) ? epilogue : nil
    }

    /// A bounded reader of machine code.
    private struct Cursor {
        private var rest: ArraySlice<UInt8>

        /// The order of the machine's register numbers in DWARF numbers.
        private static let numbers = [
            Register.rax, Register.rcx, Register.rdx, Register.rbx,
            Register.rsp, Register.rbp, Register.rsi, Register.rdi,
        ]

        init(_ code: [UInt8]) {
            rest = code[...]
        }

        mutating func skip(_ bytes: UInt8...) -> Bool {
            guard rest.starts(with: bytes) else { return false }
            rest = rest.dropFirst(bytes.count)
            return true
        }

        mutating func byte() -> UInt8? {
            rest.popFirst()
        }

        mutating func word32() -> UInt32? {
            guard rest.count >= 4 else { return nil }
            defer { rest = rest.dropFirst(4) }
            return rest.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
        }

        mutating func push() -> Int? { register(opcode: 0x50) }
        mutating func pop() -> Int? { register(opcode: 0x58) }

        private mutating func register(opcode: UInt8) -> Int? {
            let isExtended = rest.first == 0x41
            guard let byte = rest.dropFirst(isExtended ? 1 : 0).first, (opcode..<opcode + 8).contains(byte) else {
                return nil
            }
            rest = rest.dropFirst(isExtended ? 2 : 1)
            return isExtended ? 8 + Int(byte - opcode) : Cursor.numbers[Int(byte - opcode)]
        }

        /// Moves between registers other than the stack and frame pointers, and `xor r, r`: compilers schedule them
        /// between the pushes.
        mutating func skipRegisterMove() -> Bool {
            var copy = rest
            var extended: UInt8 = 0
            if let prefix = copy.first, (0x40...0x4f).contains(prefix) {
                extended = prefix
                copy = copy.dropFirst()
            }
            guard let opcode = copy.popFirst(), [0x89, 0x8b, 0x31, 0x33].contains(opcode),
                let operands = copy.popFirst(), operands >> 6 == 3
            else { return false }
            let target = opcode & 2 == 0 ? operands & 7 : operands >> 3 & 7
            let isExtended = extended & (opcode & 2 == 0 ? 1 : 4) != 0
            guard isExtended || target != 4 && target != 5 else { return false }
            rest = copy
            return true
        }
    }
}
