// SPDX-License-Identifier: Apache-2.0

extension X86_64 {
    /// What a function has on the stack at one of its instructions, below its return address.
    struct StackLayout: Equatable {
        /// Bytes between the stack pointer and the return address; nil where only the frame pointer can tell.
        var depth: Int64? = 0
        /// Bytes between where the frame pointer points and the return address; nil while it belongs to the caller.
        var framePointerDepth: Int64?
        /// Where registers of the caller are saved, in bytes below the return address.
        var saved: [Int: Int64] = [:]
    }

    /// More instructions than any but generated functions have.
    private static let instructionLimit = 1 << 16

    /// Follows the code from the function's start to the instruction at `offset`, along all jumps.
    ///
    /// - Parameters:
    ///   - code: From the function's start on.
    ///   - isAfterCall: `offset` is where a call returns to; the call itself is what has to be reached, since one that
    ///     does not return may be the last instruction.
    /// - Returns: nil when the instruction is not reached. Where a jump through a table hides the way, the layout at the
    ///   jump stands in: compilers do not move the stack pointer there.
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
