// SPDX-License-Identifier: Apache-2.0

extension X86_64 {
    /// One machine instruction, described by its effect on the stack and on the flow of control.
    struct Instruction: Equatable {
        enum Effect: Equatable {
            /// No effect on the stack or on the flow of control.
            case ordinary
            /// `push` of a callee-saved register, or of something else.
            case push(Int?)
            case pop(Int?)
            /// The stack pointer is increased by this.
            case release(Int64)
            /// `mov rbp, rsp` or `lea rbp, [rsp + displacement]`.
            case setFramePointer(displacement: Int64)
            /// `mov rsp, rbp` or `lea rsp, [rbp + displacement]`.
            case restoreStackPointer(displacement: Int64)
            /// `leave`.
            case leave
            /// The stack pointer is set to an unknown value.
            case moveStackPointer
            case call
            case jump(Int)
            case branch(Int)
            case indirectJump
            /// `ret`, `ud2`, `hlt`, `int3`: execution does not continue.
            case end
        }

        var length: Int
        var effect: Effect
    }

    /// Decodes the instruction at `offset`; nil if the bytes end or are not valid in 64-bit mode.
    ///
    /// Jump targets are also offsets into `code`. Source: Intel SDM volume 2, appendix A.
    static func instruction(in code: [UInt8], at offset: Int) -> Instruction? {
        var decoder = Decoder(code: code, start: offset, position: offset)
        return decoder.decode()
    }

    private struct Decoder {
        let code: [UInt8]
        let start: Int
        var position: Int
        private var extensions: UInt8 = 0
        private var isNarrow = false
        private var hasShortAddress = false

        init(code: [UInt8], start: Int, position: Int) {
            self.code = code
            self.start = start
            self.position = position
        }

        /// ModRM, SIB and displacement.
        private struct Operand {
            var isRegister: Bool
            /// The register field, extended by REX.R.
            var register: Int
            /// The register, or the base of the memory operand, extended by REX.B; nil without a base or for another
            /// one.
            var base: Int?
            var displacement: Int64
        }

        private static let stackPointer = 4
        private static let framePointer = 5
        private static let longest = 15

        mutating func decode() -> Instruction? {
            guard let effect = effect(), position - start <= Decoder.longest else { return nil }
            return Instruction(length: position - start, effect: effect)
        }

        private mutating func effect() -> Instruction.Effect? {
            while let byte = peek(), [0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65].contains(byte) {
                isNarrow = isNarrow || byte == 0x66
                hasShortAddress = hasShortAddress || byte == 0x67
                position += 1
            }
            if let byte = peek(), 0x40...0x4f ~= byte {
                extensions = byte
                position += 1
            }
            guard let opcode = byte() else { return nil }
            switch opcode {
            case 0x0f: return secondMap()
            case 0xc5:
                guard byte() != nil else { return nil }
                return vector(map: 1)
            case 0xc4:
                guard let map = byte(), byte() != nil else { return nil }
                return vector(map: map & 0x1f)
            case 0x62:
                guard let map = byte(), byte() != nil, byte() != nil else { return nil }
                return vector(map: map & 7)
            default: return firstMap(opcode)
            }
        }

        // MARK: Maps

        private mutating func firstMap(_ opcode: UInt8) -> Instruction.Effect? {
            switch opcode {
            case 0x50...0x57: return .push(preserved(Int(opcode & 7) | extended(1)))
            case 0x58...0x5f: return popped(Int(opcode & 7) | extended(1))
            case 0x68: return skip(immediate) ? .push(nil) : nil
            case 0x6a: return skip(1) ? .push(nil) : nil
            case 0x9c: return .push(nil)
            case 0x9d: return .pop(nil)
            case 0x8f: return operand() == nil ? nil : .pop(nil)
            case 0x70...0x7f, 0xe0...0xe3: return signed(1).map { .branch(position + Int($0)) }
            case 0xeb: return signed(1).map { .jump(position + Int($0)) }
            case 0xe9: return signed(4).map { .jump(position + Int($0)) }
            case 0xe8: return skip(4) ? .call : nil
            case 0xc2, 0xca: return skip(2) ? .end : nil
            case 0xc3, 0xcb, 0xcc, 0xcf, 0xf4: return .end
            case 0xc8: return skip(3) ? .moveStackPointer : nil
            case 0xc9: return .leave
            case 0xff: return indirect()
            case 0x80, 0x81, 0x83: return arithmetic(opcode)
            case 0x89, 0x8b, 0x8d: return move(opcode)
            case 0x00...0x3f where opcode & 7 < 4: return operation(opcode)
            case 0x00...0x3f where opcode & 7 == 4: return skip(1) ? .ordinary : nil
            case 0x00...0x3f where opcode & 7 == 5: return skip(immediate) ? .ordinary : nil
            case 0x69: return operand() != nil && skip(immediate) ? .ordinary : nil
            case 0x6b, 0xc0, 0xc1, 0xc6: return operand() != nil && skip(1) ? .ordinary : nil
            case 0xc7: return operand() != nil && skip(immediate) ? .ordinary : nil
            case 0xf6, 0xf7:
                guard let operand = operand() else { return nil }
                let size = operand.register & 7 > 1 ? 0 : opcode == 0xf6 ? 1 : immediate
                return skip(size) ? .ordinary : nil
            case 0x63, 0x84...0x8e, 0xd0...0xd3, 0xd8...0xdf, 0xfe: return operand() == nil ? nil : .ordinary
            case 0xa0...0xa3: return skip(hasShortAddress ? 4 : 8) ? .ordinary : nil
            case 0xa8, 0xb0...0xb7, 0xcd, 0xe4...0xe7: return skip(1) ? .ordinary : nil
            case 0xa9: return skip(immediate) ? .ordinary : nil
            case 0xb8...0xbf: return skip(extensions & 8 != 0 ? 8 : immediate) ? .ordinary : nil
            case 0x6c...0x6f, 0x90...0x99, 0x9b, 0x9e, 0x9f, 0xa4...0xa7, 0xaa...0xaf, 0xd7, 0xec...0xef, 0xf1,
                0xf5, 0xf8...0xfd:
                return .ordinary
            default: return nil
            }
        }

        private mutating func secondMap() -> Instruction.Effect? {
            guard let opcode = byte() else { return nil }
            switch opcode {
            case 0x0b: return .end
            case 0x38: return byte() != nil && operand() != nil ? .ordinary : nil
            case 0x3a: return byte() != nil && operand() != nil && skip(1) ? .ordinary : nil
            case 0x80...0x8f: return signed(4).map { .branch(position + Int($0)) }
            case 0x05...0x09, 0x0e, 0x30...0x37, 0x77, 0xa2, 0xaa, 0xc8...0xcf: return .ordinary
            case 0xa0, 0xa8: return .push(nil)
            case 0xa1, 0xa9: return .pop(nil)
            case 0x0f, 0x70...0x73, 0xa4, 0xac, 0xba, 0xc2, 0xc4...0xc6:
                return operand() != nil && skip(1) ? .ordinary : nil
            default: return operand() == nil ? nil : .ordinary
            }
        }

        private mutating func vector(map: UInt8) -> Instruction.Effect? {
            guard let opcode = byte() else { return nil }
            if map == 1, opcode == 0x77 { return .ordinary }
            let hasImmediate =
                map == 3 || map == 1 && [0x70, 0x71, 0x72, 0x73, 0xc2, 0xc4, 0xc5, 0xc6].contains(opcode)
            return operand() != nil && skip(hasImmediate ? 1 : 0) ? .ordinary : nil
        }

        // MARK: What moves the stack or frame pointer

        private mutating func indirect() -> Instruction.Effect? {
            guard let operand = operand() else { return nil }
            switch operand.register & 7 {
            case 2, 3: return .call
            case 4, 5: return .indirectJump
            case 6: return .push(nil)
            default: return .ordinary
            }
        }

        /// Decodes `add`, `or`, …, `sub`, `xor`, `cmp` with an immediate.
        private mutating func arithmetic(_ opcode: UInt8) -> Instruction.Effect? {
            guard let operand = operand(), let value = signed(opcode == 0x81 ? immediate : 1) else { return nil }
            guard operand.isRegister, operand.base == Decoder.stackPointer, opcode != 0x80 else { return .ordinary }
            switch operand.register & 7 {
            case 0: return .release(value)
            case 5: return .release(-value)
            case 7: return .ordinary
            default: return .moveStackPointer
            }
        }

        /// Decodes `mov` in both directions, and `lea`.
        private mutating func move(_ opcode: UInt8) -> Instruction.Effect? {
            guard let operand = operand() else { return nil }
            let isAddress = opcode == 0x8d
            guard isAddress != operand.isRegister else { return moved(opcode, operand) }
            let (target, source) = opcode == 0x89 ? (operand.base, operand.register) : (operand.register, operand.base)
            switch (target, source) {
            case (Decoder.framePointer, Decoder.stackPointer):
                return .setFramePointer(displacement: operand.displacement)
            case (Decoder.stackPointer, Decoder.framePointer):
                return .restoreStackPointer(displacement: operand.displacement)
            case (Decoder.stackPointer, Decoder.stackPointer): return .release(operand.displacement)
            case (Decoder.stackPointer, _): return .moveStackPointer
            default: return .ordinary
            }
        }

        /// Decodes a load or a store; `lea` with a register operand is invalid.
        private func moved(_ opcode: UInt8, _ operand: Operand) -> Instruction.Effect? {
            guard opcode != 0x8d else { return nil }
            return opcode == 0x8b && operand.register == Decoder.stackPointer ? .moveStackPointer : .ordinary
        }

        /// Decodes an operation with a register, such as `sub rsp, rax`.
        private mutating func operation(_ opcode: UInt8) -> Instruction.Effect? {
            guard let operand = operand() else { return nil }
            let isStore = opcode & 2 == 0
            let target = isStore ? (operand.isRegister ? operand.base : nil) : operand.register
            // 0x38...0x3b are comparisons, which do not write.
            return target == Decoder.stackPointer && opcode < 0x38 ? .moveStackPointer : .ordinary
        }

        private func popped(_ number: Int) -> Instruction.Effect {
            number == Decoder.stackPointer ? .moveStackPointer : .pop(preserved(number))
        }

        // MARK: Operands

        private mutating func operand() -> Operand? {
            guard let addressing = byte() else { return nil }
            let mode = addressing >> 6
            let register = Int(addressing >> 3 & 7) | extended(4)
            var base: Int? = Int(addressing & 7) | extended(1)
            if mode == 3 { return Operand(isRegister: true, register: register, base: base, displacement: 0) }
            var size = mode == 0 ? 0 : mode == 1 ? 1 : 4
            if addressing & 7 == 4 {
                guard let scaled = byte() else { return nil }
                if mode == 0, scaled & 7 == 5 { size = 4 }
                let hasIndex = Int(scaled >> 3 & 7) | extended(2) != 4
                base = hasIndex || mode == 0 && scaled & 7 == 5 ? nil : Int(scaled & 7) | extended(1)
            } else if mode == 0, addressing & 7 == 5 {
                size = 4
                base = nil
            }
            guard let displacement = signed(size) else { return nil }
            return Operand(isRegister: false, register: register, base: base, displacement: displacement)
        }

        /// The fourth bit of a register number, from the REX prefix.
        private func extended(_ bit: UInt8) -> Int {
            extensions & bit != 0 ? 8 : 0
        }

        /// The DWARF number of a machine register, if it is callee-saved.
        private func preserved(_ number: Int) -> Int? {
            let known = [3: Register.rbx, 5: Register.rbp, 12: Register.r12, 13: Register.r13, 14: Register.r14]
            return number == 15 ? Register.r15 : known[number]
        }

        // MARK: Bytes

        private var immediate: Int { isNarrow ? 2 : 4 }

        private func peek() -> UInt8? {
            code.indices.contains(position) ? code[position] : nil
        }

        private mutating func byte() -> UInt8? {
            guard let byte = peek() else { return nil }
            position += 1
            return byte
        }

        private mutating func skip(_ count: Int) -> Bool {
            guard code.count - position >= count else { return false }
            position += count
            return true
        }

        private mutating func signed(_ size: Int) -> Int64? {
            guard code.count - position >= size else { return nil }
            var value: UInt64 = 0
            for index in 0..<size { value |= UInt64(code[position + index]) << UInt64(8 * index) }
            position += size
            let unused = UInt64(64 - 8 * size)
            return size == 0 ? 0 : Int64(bitPattern: value << unused) >> Int64(unused)
        }
    }
}
