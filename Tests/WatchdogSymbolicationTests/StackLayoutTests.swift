// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import WatchdogSymbolication

@Suite("The layout of a function's stack", .reapsChildren)
struct StackLayoutTests {
    private typealias Register = X86_64.Register

    /// `push rbp; mov rbp, rsp; push rbx; sub rsp, 24; call; lea rsp, [rbp - 8]; pop rbx; pop rbp; ret`.
    private static let framed: [UInt8] =
        [0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x83, 0xec, 0x18, 0xe8, 0, 0, 0, 0]
        + [0x48, 0x8d, 0x65, 0xf8, 0x5b, 0x5d, 0xc3]

    @Test("is known at each instruction from the first to the last")
    func everywhere() {
        func depth(_ offset: Int) -> Int64? {
            X86_64.stackLayout(in: StackLayoutTests.framed, at: offset, isAfterCall: false)?.depth
        }
        #expect([0, 1, 4, 5, 9].map(depth) == [0, 8, 8, 16, 40])
        #expect([14, 18, 19, 20].map(depth) == [40, 16, 8, 0])
        #expect(depth(3) == nil)
        let atCall = X86_64.stackLayout(in: StackLayoutTests.framed, at: 14, isAfterCall: true)
        #expect(atCall == .init(depth: 40, framePointerDepth: 8, saved: [Register.rbp: 8, Register.rbx: 16]))
        let atReturn = X86_64.stackLayout(in: StackLayoutTests.framed, at: 20, isAfterCall: false)
        #expect(atReturn == .init(depth: 0, framePointerDepth: nil, saved: [:]))
    }

    @Test("is known after an early exit")
    func earlyExit() {
        // test edi, edi; je 5; push rbx; call; pop rbx; ret | xor eax, eax; ret
        let code: [UInt8] = [0x85, 0xff, 0x74, 0x08, 0x53, 0xe8, 0, 0, 0, 0, 0x5b, 0xc3, 0x31, 0xc0, 0xc3]
        #expect(X86_64.stackLayout(in: code, at: 10, isAfterCall: true)?.depth == 8)
        #expect(X86_64.stackLayout(in: code, at: 12, isAfterCall: false)?.depth == 0)
    }

    @Test("is known after the return of another path")
    func behindReturn() {
        // push rbx; test; jne 7; pop rbx; ret | (jne's target) call; pop rbx; ret
        let code: [UInt8] = [0x53, 0x85, 0xff, 0x75, 0x02, 0x5b, 0xc3, 0xe8, 0, 0, 0, 0, 0x5b, 0xc3]
        #expect(X86_64.stackLayout(in: code, at: 12, isAfterCall: true)?.depth == 8)
    }

    @Test("is known even if a jump through a table hides the path")
    func table() {
        // push rbx; sub rsp, 16; jmp rax | call
        let code: [UInt8] = [0x53, 0x48, 0x83, 0xec, 0x10, 0xff, 0xe0, 0xe8, 0, 0, 0, 0]
        let layout = X86_64.stackLayout(in: code, at: 12, isAfterCall: true)
        #expect(layout == .init(depth: 24, framePointerDepth: nil, saved: [Register.rbx: 8]))
    }

    @Test("may be known only from the frame pointer")
    func aligned() {
        // push rbp; mov rbp, rsp; and rsp, -32; sub rsp, 64; call
        let code: [UInt8] =
            [0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xe0, 0x48, 0x83, 0xec, 0x40, 0xe8, 0, 0, 0, 0]
        let layout = X86_64.stackLayout(in: code, at: 17, isAfterCall: true)
        #expect(layout == .init(depth: nil, framePointerDepth: 8, saved: [Register.rbp: 8]))
    }

    @Test("is known for a call that does not return, at the very end")
    func noReturn() {
        let code: [UInt8] = [0x50, 0xe8, 0, 0, 0, 0]
        #expect(X86_64.stackLayout(in: code, at: 6, isAfterCall: true)?.depth == 8)
    }

    @Test("is unknown if loops or jumps out of the function end the search")
    func loops() {
        #expect(X86_64.stackLayout(in: [0x50, 0xeb, 0xfd], at: 9, isAfterCall: false) == nil)
        #expect(X86_64.stackLayout(in: [0xeb, 0x80], at: 1, isAfterCall: false) == nil)
        #expect(X86_64.stackLayout(in: [], at: 0, isAfterCall: true) == nil)
    }
}
