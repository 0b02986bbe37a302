// SPDX-License-Identifier: Apache-2.0

import CSymbolication
import TestSupport
import Testing

@testable import WatchdogSymbolication

@Suite("DWARF expressions of call frame information", .reapsChildren)
struct DwarfExpressionTests {
    private typealias Operation = DwarfExpression.Operation

    private func evaluate(_ operations: [(Int, UInt64)], cfa: UInt64? = nil) -> DwarfExpression.Result? {
        var registers = Registers(count: X86_64.registerCount)
        registers[X86_64.Register.rsp] = 0x1000
        registers[X86_64.Register.rip] = 0x40_000b
        let memory: [UInt64: UInt64] = [0x1008: 0x1122_3344_5566_7788]
        let expression = DwarfExpression(
            operations.enumerated().map { index, operation in
                Operation(code: operation.0, operand: operation.1, secondOperand: 0, offset: UInt64(index))
            })
        return expression.evaluate(
            in: .init(registers: registers, canonicalFrameAddress: cfa, read: { memory[$0] }))
    }

    @Test("evaluate registers, memory and the frame address")
    func operands() {
        #expect(evaluate([(DW_OP_breg7, 16)]) == .address(0x1010))
        #expect(evaluate([(DW_OP_breg7, 16), (DW_OP_stack_value, 0)]) == .value(0x1010))
        #expect(evaluate([(DW_OP_breg7, 8), (DW_OP_deref, 0)]) == .address(0x1122_3344_5566_7788))
        #expect(evaluate([(DW_OP_breg7, 8), (DW_OP_deref_size, 2), (DW_OP_stack_value, 0)]) == .value(0x7788))
        #expect(evaluate([(DW_OP_call_frame_cfa, 0), (DW_OP_plus_uconst, 0 &- 8)], cfa: 0x2000) == .address(0x1ff8))
        #expect(evaluate([(DW_OP_reg6, 0)]) == .register(6))
    }

    @Test("evaluate the linkage table's rule: eight more after the push")
    func linkageTable() {
        let rule: [(Int, UInt64)] = [
            (DW_OP_breg7, 8), (DW_OP_breg16, 0), (DW_OP_lit15, 0), (DW_OP_and, 0), (DW_OP_lit11, 0), (DW_OP_ge, 0),
            (DW_OP_lit3, 0), (DW_OP_shl, 0), (DW_OP_plus, 0),
        ]
        #expect(evaluate(rule) == .address(0x1010))
    }

    @Test("never trap in arithmetic")
    func arithmetic() {
        let minimum: UInt64 = 1 << 63
        #expect(evaluate([(DW_OP_constu, minimum), (DW_OP_consts, .max), (DW_OP_div, 0)]) == .address(minimum))
        #expect(evaluate([(DW_OP_lit1, 0), (DW_OP_lit0, 0), (DW_OP_div, 0)]) == nil)
        #expect(evaluate([(DW_OP_lit1, 0), (DW_OP_lit0, 0), (DW_OP_mod, 0)]) == nil)
        #expect(evaluate([(DW_OP_constu, minimum), (DW_OP_abs, 0)]) == .address(minimum))
        #expect(evaluate([(DW_OP_lit1, 0), (DW_OP_constu, 200), (DW_OP_shl, 0)]) == .address(0))
        #expect(evaluate([(DW_OP_constu, .max), (DW_OP_lit1, 0), (DW_OP_plus, 0)]) == .address(0))
    }

    @Test("unknown, missing and malformed expressions yield nothing")
    func failures() {
        #expect(evaluate([]) == nil)
        #expect(evaluate([(DW_OP_breg0, 0)]) == nil)
        #expect(evaluate([(DW_OP_regx, .max)]) == .none)
        #expect(evaluate([(DW_OP_call_frame_cfa, 0)]) == nil)
        #expect(evaluate([(DW_OP_lit1, 0), (DW_OP_deref, 0)]) == nil)
        #expect(evaluate([(DW_OP_plus, 0)]) == nil)
        #expect(evaluate([(DW_OP_lit1, 0), (DW_OP_pick, 9)]) == nil)
        #expect(evaluate([(DW_OP_lit1, 0), (0xff, 0)]) == nil)
    }

    @Test("branch only inside themselves, and their loops end")
    func branches() {
        // Each operation of this test is at its index, and a branch has three bytes.
        #expect(
            evaluate([(DW_OP_skip, 1), (DW_OP_lit1, 0), (DW_OP_lit2, 0), (DW_OP_lit3, 0), (DW_OP_lit4, 0)])
                == .address(4))
        #expect(evaluate([(DW_OP_nop, 0), (DW_OP_skip, 0xfffd)]) == nil)
        #expect(evaluate([(DW_OP_skip, 0x7000)]) == nil)
        let doubling = Array(repeating: (DW_OP_lit1, UInt64(0)), count: 200)
        #expect(evaluate(doubling) == nil)
    }

    @Test("random operations neither trap nor hang")
    func random() {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<5000 {
            let operations = (0..<Int.random(in: 0...12, using: &generator)).map { _ in
                (Int.random(in: 0...255, using: &generator), UInt64.random(in: 0...(.max), using: &generator) >> 60)
            }
            _ = evaluate(operations, cfa: 0x2000)
        }
    }
}
