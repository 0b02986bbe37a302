// SPDX-License-Identifier: Apache-2.0

extension X86_64 {
    /// A function's use of the stack, below its return address, at one of its instructions.
    struct StackLayout: Equatable {
        /// The number of bytes between the stack pointer and the return address; nil if only the frame pointer
        /// determines it.
        var depth: Int64? = 0
        /// The number of bytes between the frame pointer's target and the return address; nil while it belongs to the
        /// caller.
        var framePointerDepth: Int64?
        /// The saved registers of the caller, in bytes below the return address.
        var saved: [Int: Int64] = [:]
    }

    /// The maximum number of instructions: more than any function has, except generated ones.
    private static let instructionLimit = 1 << 16

    /// Follows the code along all jumps, from the function's start to the instruction at `offset`.
    ///
    /// - Parameters:
    ///   - code: The code from the function's start on.
    ///   - isAfterCall: Whether `offset` is where a call returns to; then the call itself must be reached, because a
    ///     call that does not return may be the last instruction.
    /// - Returns: nil if the instruction is not reached. If a jump through a table hides the path, the layout at the
    ///   jump is used instead: compilers do not move the stack pointer there.
    static func stackLayout(in code: [UInt8], at offset: Int, isAfterCall: Bool) -> StackLayout? {
        var work = [(offset: 0, layout: StackLayout())]
        var visited: Set<Int> = []
        var atIndirectJumps: [StackLayout] = []
        while var (position, layout) = work.popLast() {
            while visited.count < instructionLimit, position >= 0, visited.insert(position).inserted {
                if position == offset, !isAfterCall { return layout }
                guard let instruction = instruction(in: code, at: position) else { break }
                position += instruction.length
                switch instruction.effect {
                case .call where isAfterCall && position == offset: return layout
                case .end: position = -1
                case .jump(let target): position = target
                case .branch(let target): work.append((target, layout))
                case .indirectJump:
                    atIndirectJumps.append(layout)
                    position = -1
                default: layout.apply(instruction.effect)
                }
            }
        }
        guard let first = atIndirectJumps.first, atIndirectJumps.allSatisfy({ $0.depth == first.depth }) else {
            return nil
        }
        return first
    }
}

extension X86_64.StackLayout {
    fileprivate mutating func apply(_ effect: X86_64.Instruction.Effect) {
        switch effect {
        case .push(let register):
            depth = depth.map { $0 &+ 8 }
            // Only the first push of a register saves the caller's value.
            if let register, let depth, saved[register] == nil { saved[register] = depth }
        case .pop(let register):
            if let register, saved[register] == depth { restored(register) }
            depth = depth.map { $0 &- 8 }
        case .release(let amount):
            depth = depth.map { $0 &- amount }
        case .setFramePointer(let displacement):
            framePointerDepth = depth.map { $0 &- displacement }
        case .restoreStackPointer(let displacement):
            depth = framePointerDepth.map { $0 &- displacement }
        case .leave:
            depth = framePointerDepth.map { $0 &- 8 }
            restored(X86_64.Register.rbp)
        case .moveStackPointer:
            depth = nil
        case .ordinary, .call, .jump, .branch, .indirectJump, .end: break
        }
    }

    private mutating func restored(_ register: Int) {
        saved[register] = nil
        if register == X86_64.Register.rbp { framePointerDepth = nil }
    }
}
