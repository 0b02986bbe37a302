// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import WatchdogSymbolication

@Suite("The machine code of x86-64", .reapsChildren)
struct X86_64Tests {
    @Test(
        "calls are recognized by the bytes before the return address",
        arguments: [
            ([0xe8, 0x00, 0x01, 0x00, 0x00], .direct(target: 0x1100)),
            ([0x90, 0xe8, 0xfb, 0xff, 0xff, 0xff], .direct(target: 0xffb)),
            ([0xff, 0xd0], .indirect),  // call rax
            ([0x41, 0xff, 0xd4], .indirect),  // call r12
            ([0xff, 0x10], .indirect),  // call [rax]
            ([0xff, 0x50, 0x18], .indirect),  // call [rax + 24]
            ([0xff, 0x54, 0x24, 0x08], .indirect),  // call [rsp + 8]
            ([0xff, 0x14, 0xc8], .indirect),  // call [rax + rcx * 8]
            ([0xff, 0x90, 0x00, 0x02, 0x00, 0x00], .indirect),  // call [rax + 512]
            ([0xff, 0x15, 0x10, 0x20, 0x00, 0x00], .indirect),  // call [rip + 0x2010]
            ([0xff, 0x94, 0xc8, 0x00, 0x02, 0x00, 0x00], .indirect),  // call [rax + rcx * 8 + 512]
            ([0xff, 0x14, 0xc5, 0x00, 0x02, 0x00, 0x00], .indirect),  // call [rax * 8 + 512]
            ([0xff, 0xe0], nil),  // jmp rax
            ([0x48, 0x89, 0xe5], nil),
            ([0xc3], nil),
            ([], nil),
        ] as [([UInt8], X86_64.Call?)]
    )
    func calls(bytes: [UInt8], expected: X86_64.Call?) {
        #expect(X86_64.call(before: 0x1000, bytes: bytes) == expected)
        let padded = [UInt8](repeating: 0x90, count: max(0, X86_64.longestCall - bytes.count)) + bytes
        #expect(X86_64.call(before: 0x1000, bytes: padded) == expected)
    }

    @Test(
        "the code after a signal handler is recognized",
        arguments: [
            ([0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05], true),  // mov rax, 15; syscall
            ([0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05, 0x0f, 0x0b], true),  // mov eax, 15; syscall
            ([0x48, 0xc7, 0xc0, 0x0e, 0, 0, 0, 0x0f, 0x05], false),  // another call
            ([0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0], false),
            ([], false),
        ] as [([UInt8], Bool)]
    )
    func signalReturn(bytes: [UInt8], expected: Bool) {
        #expect(X86_64.returnsFromSignal(bytes) == expected)
    }

    @Test("each register of interrupted code has its place")
    func signalContext() {
        let places = (0..<X86_64.registerCount).compactMap(X86_64.signalContextOffset)
        #expect(Set(places) == Set(stride(from: 40, through: 168, by: 8)))
        #expect(X86_64.signalContextOffset(of: X86_64.Register.rsp) == 160)
        #expect(X86_64.signalContextOffset(of: X86_64.Register.rip) == 168)
        #expect(X86_64.signalContextOffset(of: X86_64.Register.rbp) == 120)
        #expect(X86_64.signalContextOffset(of: X86_64.registerCount) == nil)
    }

    @Test("a call to an address below zero wraps around")
    func wrapping() {
        #expect(X86_64.call(before: 5, bytes: [0xe8, 0xf0, 0xff, 0xff, 0xff]) == .direct(target: .max - 10))
    }

    @Test("trampolines are recognized: linkage tables and tail calls")
    func trampolines() {
        #expect(X86_64.isTrampoline([0xff, 0x25, 0x01, 0x02, 0x03, 0x04]))
        #expect(X86_64.isTrampoline([0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0, 0, 0, 0]))
        #expect(X86_64.isTrampoline([0xe9, 0, 0, 0, 0]))
        #expect(!X86_64.isTrampoline([0x55, 0xff, 0x25]))
        #expect(!X86_64.isTrampoline([]))
    }

    @Test("no bytes are misread beyond their end")
    func random() {
        var generator = SeededGenerator(seed: 42)
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...20, using: &generator)).map { _ in
                Bool.random(using: &generator)
                    ? UInt8.random(in: 0...255, using: &generator)
                    : [0x55, 0x41, 0x48, 0x81, 0xec, 0x83, 0xff, 0xe8, 0xc9, 0x5b, 0xf3].randomElement(
                        using: &generator) ?? 0
            }
            _ = X86_64.call(before: 0x1000, bytes: bytes)
            _ = X86_64.isTrampoline(bytes)
            #expect(X86_64.instruction(in: bytes, at: 0)?.length ?? 0 <= bytes.count)
            _ = X86_64.stackLayout(in: bytes, at: Int.random(in: 0...20, using: &generator), isAfterCall: true)
        }
    }
}
