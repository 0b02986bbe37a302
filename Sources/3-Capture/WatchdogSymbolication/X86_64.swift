// SPDX-License-Identifier: Apache-2.0

/// The facts about x86-64 that unwinding needs: registers, calls, and stack layouts.
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

    /// The name as spelled by Apple's tools.
    static let name = "x86_64"
    static let registerCount = 17
    static let calleeSaved = [Register.rbx, Register.rbp, Register.r12, Register.r13, Register.r14, Register.r15]
    /// Swift's asynchronous functions keep their AsyncContext here across calls (swiftasynccc).
    static let asyncContext = Register.r14
    /// At every function's entry, the stack pointer plus 8 is a multiple of this.
    static let stackAlignment: UInt64 = 16

    /// The kind of the call instruction before a return address.
    enum Call: Equatable {
        case direct(target: UInt64)
        case indirect
    }

    /// The number of bytes that ``call(before:bytes:)`` needs.
    static let longestCall = 8

    /// The call that ends at `address`, given the bytes before it; nil if there is none.
    static func call(before address: UInt64, bytes: [UInt8]) -> Call? {
        let end = bytes.count
        if end >= 5, bytes[end - 5] == 0xe8 {
            let distance = bytes.suffix(4).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            return .direct(target: address &+ UInt64(bitPattern: Int64(Int32(bitPattern: distance))))
        }
        // FF /2: call r/m64, 2 to 7 bytes long depending on ModRM and SIB; a prefix in front does not matter here.
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

    /// The number of ModRM, SIB and displacement bytes.
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

    /// Whether the code jumps immediately: a procedure linkage table entry, or a function that is only a tail call.
    static func isTrampoline(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        if rest.starts(with: [0xf3, 0x0f, 0x1e, 0xfa]) { rest = rest.dropFirst(4) }  // endbr64
        if rest.first == 0xf2 { rest = rest.dropFirst() }  // bnd
        return rest.starts(with: [0xff, 0x25]) || rest.starts(with: [0xe9])
    }

    /// The number of bytes that ``returnsFromSignal(_:)`` needs.
    static let longestSignalReturn = 9

    /// Whether the code is that to which a signal handler returns: `mov $15, %rax` or `mov $15, %eax`, then `syscall`.
    ///
    /// 15 is rt_sigreturn(2). glibc marks its own in its call frame information; musl and Go do not.
    static func returnsFromSignal(_ bytes: [UInt8]) -> Bool {
        bytes.starts(with: [0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05])
            || bytes.starts(with: [0xb8, 15, 0, 0, 0, 0x0f, 0x05])
    }

    /// The offset of an interrupted register from the stack pointer at ``returnsFromSignal(_:)``.
    ///
    /// Source: `struct ucontext` and `struct sigcontext` of `arch/x86/include/uapi/asm`.
    static func signalContextOffset(of register: Int) -> UInt64? {
        let order = [8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16]
        return order.firstIndex(of: register).map { 40 + 8 * UInt64($0) }
    }
}
