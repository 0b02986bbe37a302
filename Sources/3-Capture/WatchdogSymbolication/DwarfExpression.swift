// SPDX-License-Identifier: Apache-2.0

import CSymbolication

/// A DWARF expression in call frame information (DWARF 5, section 2.5), decoded by libdw.
struct DwarfExpression {
    struct Operation {
        var code: Int
        var operand: UInt64
        var secondOperand: UInt64
        /// The offset from the start of the expression in bytes; branches refer to it.
        var offset: UInt64
    }

    /// The result of an expression.
    enum Result: Equatable {
        case value(UInt64)
        /// The value is in memory at this address.
        case address(UInt64)
        /// The value is in the register with this number.
        case register(Int)
    }

    /// The values that an expression may refer to.
    struct Context {
        var registers: Registers
        var canonicalFrameAddress: UInt64?
        var read: (UInt64) -> UInt64?
    }

    private static let stackLimit = 64
    private static let stepLimit = 1024

    let operations: [Operation]

    init(_ operations: UnsafeBufferPointer<Dwarf_Op>) {
        self.operations = operations.map { operation in
            Operation(
                code: Int(operation.atom),
                operand: operation.number,
                secondOperand: operation.number2,
                offset: operation.offset
            )
        }
    }

    init(_ operations: [Operation]) {
        self.operations = operations
    }

    /// Evaluates the expression; nil if it needs an unknown value, is malformed or takes too long.
    func evaluate(in context: Context) -> Result? {
        var stack: [UInt64] = []
        var index = 0
        for _ in 0..<DwarfExpression.stepLimit {
            guard index < operations.count else { return stack.last.map(Result.address) }
            let operation = operations[index]
            index += 1
            switch operation.code {
            case DW_OP_stack_value:
                return stack.last.map(Result.value)
            case DW_OP_reg0...DW_OP_reg31:
                return .register(operation.code - DW_OP_reg0)
            case DW_OP_regx:
                return Int(exactly: operation.operand).map(Result.register)
            case DW_OP_bra, DW_OP_skip:
                if operation.code == DW_OP_bra {
                    guard let condition = stack.popLast() else { return nil }
                    if condition == 0 { continue }
                }
                guard let target = self.index(ofBranchAt: operation) else { return nil }
                index = target
            default:
                guard apply(operation, to: &stack, in: context), stack.count <= DwarfExpression.stackLimit else {
                    return nil
                }
            }
        }
        return nil
    }

    private func index(ofBranchAt operation: Operation) -> Int? {
        let distance = Int64(Int16(truncatingIfNeeded: operation.operand))
        let target = operation.offset &+ 3 &+ UInt64(bitPattern: distance)
        return operations.firstIndex { $0.offset == target }
    }

    private func apply(_ operation: Operation, to stack: inout [UInt64], in context: Context) -> Bool {
        if let value = pushed(by: operation, in: context) {
            stack.append(value)
            return true
        }
        switch operation.code {
        case DW_OP_nop: return true
        case DW_OP_dup, DW_OP_over, DW_OP_pick:
            let depth = operation.code == DW_OP_dup ? 0 : operation.code == DW_OP_over ? 1 : operation.operand
            guard depth < UInt64(stack.count) else { return false }
            stack.append(stack[stack.count - 1 - Int(depth)])
            return true
        case DW_OP_drop: return stack.popLast() != nil
        case DW_OP_swap:
            guard stack.count >= 2 else { return false }
            stack.swapAt(stack.count - 1, stack.count - 2)
            return true
        case DW_OP_rot:
            guard stack.count >= 3, let top = stack.popLast() else { return false }
            stack.insert(top, at: stack.count - 2)
            return true
        default: break
        }
        guard let top = stack.popLast() else { return false }
        if let value = unary(operation, top, context) {
            stack.append(value)
            return true
        }
        guard let second = stack.popLast(), let value = binary(operation.code, second, top) else { return false }
        stack.append(value)
        return true
    }

    private func pushed(by operation: Operation, in context: Context) -> UInt64? {
        switch operation.code {
        case DW_OP_lit0...DW_OP_lit31: UInt64(operation.code - DW_OP_lit0)
        case DW_OP_breg0...DW_OP_breg31:
            context.registers[operation.code - DW_OP_breg0].map { $0 &+ operation.operand }
        case DW_OP_bregx:
            Int(exactly: operation.operand).flatMap { context.registers[$0] }.map { $0 &+ operation.secondOperand }
        // libdw has already sign-extended the signed operands.
        case DW_OP_addr, DW_OP_const1u, DW_OP_const1s, DW_OP_const2u, DW_OP_const2s, DW_OP_const4u, DW_OP_const4s,
            DW_OP_const8u, DW_OP_const8s, DW_OP_constu, DW_OP_consts:
            operation.operand
        case DW_OP_call_frame_cfa: context.canonicalFrameAddress
        default: nil
        }
    }

    private func unary(_ operation: Operation, _ top: UInt64, _ context: Context) -> UInt64? {
        switch operation.code {
        case DW_OP_deref: return context.read(top)
        case DW_OP_deref_size:
            guard (1...8).contains(operation.operand) else { return nil }
            return context.read(top).map { $0 & (.max >> (64 - 8 * operation.operand)) }
        case DW_OP_abs: return Int64(bitPattern: top) < 0 ? 0 &- top : top
        case DW_OP_neg: return 0 &- top
        case DW_OP_not: return ~top
        case DW_OP_plus_uconst: return top &+ operation.operand
        default: return nil
        }
    }

    private func binary(_ code: Int, _ left: UInt64, _ right: UInt64) -> UInt64? {
        let signedLeft = Int64(bitPattern: left)
        let signedRight = Int64(bitPattern: right)
        switch code {
        case DW_OP_and: return left & right
        case DW_OP_or: return left | right
        case DW_OP_xor: return left ^ right
        case DW_OP_plus: return left &+ right
        case DW_OP_minus: return left &- right
        case DW_OP_mul: return left &* right
        case DW_OP_div:
            guard right != 0 else { return nil }
            return UInt64(bitPattern: signedLeft.dividedReportingOverflow(by: signedRight).partialValue)
        case DW_OP_mod: return right == 0 ? nil : left % right
        case DW_OP_shl: return left << right
        case DW_OP_shr: return left >> right
        case DW_OP_shra: return UInt64(bitPattern: signedLeft >> right)
        case DW_OP_eq: return left == right ? 1 : 0
        case DW_OP_ne: return left != right ? 1 : 0
        case DW_OP_lt: return signedLeft < signedRight ? 1 : 0
        case DW_OP_le: return signedLeft <= signedRight ? 1 : 0
        case DW_OP_gt: return signedLeft > signedRight ? 1 : 0
        case DW_OP_ge: return signedLeft >= signedRight ? 1 : 0
        default: return nil
        }
    }
}
