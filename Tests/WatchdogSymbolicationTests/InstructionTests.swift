// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import WatchdogSymbolication

@Suite("Instructions of x86-64", .reapsChildren)
struct InstructionTests {
    private typealias Register = X86_64.Register

    @Test(
        "instructions that move the stack or frame pointer, or the flow of control, are decoded",
        arguments: [
            ([0x55], .push(6)),  // push rbp
            ([0x41, 0x57], .push(15)),  // push r15
            ([0x50], .push(nil)),  // push rax
            ([0x68, 1, 2, 3, 4], .push(nil)),
            ([0xff, 0x75, 0x10], .push(nil)),  // push [rbp + 16]
            ([0x5b], .pop(3)),  // pop rbx
            ([0x41, 0x5e], .pop(14)),  // pop r14
            ([0x5c], .moveStackPointer),  // pop rsp
            ([0x48, 0x83, 0xec, 0x18], .release(-24)),  // sub rsp, 24
            ([0x48, 0x81, 0xec, 0x08, 0x10, 0, 0], .release(-0x1008)),
            ([0x48, 0x83, 0xc4, 0x18], .release(24)),  // add rsp, 24
            ([0x48, 0x83, 0xc4, 0x80], .release(-128)),  // add rsp, -128
            ([0x48, 0x8d, 0x64, 0x24, 0xf8], .release(-8)),  // lea rsp, [rsp - 8]
            ([0x48, 0x83, 0xe4, 0xe0], .moveStackPointer),  // and rsp, -32
            ([0x48, 0x29, 0xc4], .moveStackPointer),  // sub rsp, rax
            ([0x48, 0x39, 0xc4], .ordinary),  // cmp rsp, rax
            ([0x48, 0x89, 0xe5], .setFramePointer(displacement: 0)),  // mov rbp, rsp
            ([0x48, 0x8b, 0xec], .setFramePointer(displacement: 0)),
            ([0x48, 0x8d, 0x6c, 0x24, 0x10], .setFramePointer(displacement: 16)),  // lea rbp, [rsp + 16]
            ([0x48, 0x8d, 0x65, 0xd8], .restoreStackPointer(displacement: -40)),  // lea rsp, [rbp - 40]
            ([0x48, 0x89, 0xec], .restoreStackPointer(displacement: 0)),  // mov rsp, rbp
            ([0x4c, 0x89, 0xd4], .moveStackPointer),  // mov rsp, r10
            ([0x48, 0x8b, 0x24, 0x24], .moveStackPointer),  // mov rsp, [rsp]
            ([0x48, 0x89, 0x24, 0x24], .ordinary),  // mov [rsp], rsp
            ([0x4c, 0x89, 0xe5], .ordinary),  // mov rbp, r12
            ([0xc9], .leave),
            ([0xe8, 0, 0, 0, 0], .call),
            ([0xff, 0xd0], .call),
            ([0xff, 0xe0], .indirectJump),
            ([0x3e, 0xff, 0x24, 0xc5, 0, 0, 0, 0], .indirectJump),  // notrack jmp [rax * 8]
            ([0xeb, 0x10], .jump(18)),
            ([0xe9, 0xfb, 0xff, 0xff, 0xff], .jump(0)),
            ([0x74, 0xfe], .branch(0)),
            ([0x0f, 0x85, 0, 1, 0, 0], .branch(262)),
            ([0xc3], .end),
            ([0xf3, 0xc3], .end),
            ([0x0f, 0x0b], .end),
            ([0xf3, 0x0f, 0x1e, 0xfa], .ordinary),  // endbr64
            ([0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0], .ordinary),  // nop
            ([0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8], .ordinary),  // mov rax, imm64
            ([0xf6, 0x05, 0, 0, 0, 0, 1], .ordinary),  // test byte [rip], 1
            ([0xf7, 0xd8], .ordinary),  // neg eax
            ([0xc5, 0xf8, 0x77], .ordinary),  // vzeroupper
            ([0xc4, 0xe3, 0x7d, 0x39, 0xc1, 0x01], .ordinary),  // vextracti128
            ([0x62, 0xf1, 0x7c, 0x48, 0x28, 0x44, 0x24, 1], .ordinary),  // vmovaps zmm0, [rsp + 64]
        ] as [([UInt8], X86_64.Instruction.Effect)]
    )
    func effects(bytes: [UInt8], effect: X86_64.Instruction.Effect) {
        #expect(X86_64.instruction(in: bytes, at: 0) == .init(length: bytes.count, effect: effect))
        #expect(X86_64.instruction(in: Array(bytes.dropLast()), at: 0)?.length != bytes.count)
    }

    @Test("have the same lengths as in objdump", .enabled(if: isInstalled("objdump"), "objdump is not installed"))
    func lengths() throws {
        // The C library has instructions that compilers do not generate.
        let path = try Subject.chainStatic.executable()
        let lines = try output(of: ["objdump", "-d", "-w", "--section=.text", path]).utf8
        var wrong: [String] = []
        var count = 0
        for line in lines.split(separator: UInt8(ascii: "\n")) {
            // "  401000:\t48 83 ec 08\tsub    $0x8,%rsp"
            let fields = line.split(separator: UInt8(ascii: "\t"))
            guard fields.count >= 3 else { continue }
            count += 1
            guard count % 4 == 0 else { continue }
            let text = String(decoding: Array(fields[2]), as: UTF8.self)
            let isInstruction = !["(bad)", "data16", "rex"].contains { text.contains($0) }
            let bytes = fields[1].split(separator: UInt8(ascii: " ")).compactMap { UInt8(Substring($0), radix: 16) }
            let length = X86_64.instruction(in: bytes + [UInt8](repeating: 0, count: 15), at: 0)?.length
            if isInstruction, length != bytes.count { wrong.append("\(text): \(length ?? 0) of \(bytes.count)") }
        }
        #expect(count > 50_000)
        #expect(wrong.isEmpty, "\(wrong.count): \(wrong.prefix(20))")
    }
}
