// SPDX-License-Identifier: Apache-2.0

/// A system call as `/proc/PID/task/TID/syscall` shows it, proc_pid_syscall(5): decimal number, six arguments, stack
/// pointer and program counter.
public struct SystemCall: Hashable, Sendable {
    /// The position of a thread according to the file.
    public enum Position: Hashable, Sendable {
        /// `running`: on a CPU or waiting for one, so the kernel cannot inspect it.
        case running
        /// Number −1: blocked, but not in a system call; for example, in a page fault.
        case outside
        /// Blocked in a system call.
        case inside(SystemCall)
    }

    /// The call's number on this architecture.
    public var number: Int
    /// The six argument registers.
    public var arguments: [UInt64]
    /// Whether a 32-bit program makes the call: its call numbers differ.
    public var isOf32Bits: Bool

    /// Creates a system call.
    public init(number: Int, arguments: [UInt64], isOf32Bits: Bool = false) {
        self.number = number
        self.arguments = arguments
        self.isOf32Bits = isOf32Bits
    }

    /// Parses the text of the file.
    ///
    /// - Returns: nil for an empty text and for anything that proc_pid_syscall(5) does not describe.
    public static func position(in text: String) -> Position? {
        let fields = text.prefix(256).split(whereSeparator: \.isWhitespace)
        if fields == ["running"] { return .running }
        guard let first = fields.first, let number = Int(first) else { return nil }
        let words = fields.dropFirst().compactMap { $0.hasPrefix("0x") ? UInt64($0.dropFirst(2), radix: 16) : nil }
        guard words.count == fields.count - 1 else { return nil }
        switch (number, words.count) {
        case (-1, 2): return .outside
        case (0..., 8):
            // A 64-bit program may be mapped below 4 GiB, but not together with its stack, unless that was mapped with
            // MAP_32BIT. Nothing is mapped below vm.mmap_min_addr.
            let low: Range<UInt64> = 0x1_0000..<1 << 32
            let isOf32Bits = low.contains(words[6]) && low.contains(words[7])
            return .inside(SystemCall(number: number, arguments: Array(words.prefix(6)), isOf32Bits: isOf32Bits))
        default: return nil
        }
    }

    /// The call in which a thread is blocked, from the text of the file; nil outside a call.
    public static func blocking(_ text: String?) -> SystemCall? {
        guard case .inside(let call)? = text.flatMap(position(in:)) else { return nil }
        return call
    }

    /// The name of the call; nil if the number is not in the table for this architecture.
    public var name: String? {
        #if arch(x86_64)
            isOf32Bits ? nameOf32Bits : SystemCallNames.name(of: number)
        #else
            nil
        #endif
    }

    private var nameOf32Bits: String? {
        SystemCallNames.name(of32Bit: number).map { SystemCallNames.multiplexed($0, arguments.first) ?? $0 }
    }

    /// The descriptor in the first argument, if the call takes one there.
    public var descriptor: Int32? {
        guard let name, SystemCallNames.onDescriptor.contains(name), let word = arguments.first else { return nil }
        // socketcall(2) takes its arguments in memory, not in registers.
        if isOf32Bits, SystemCallNames.name(of32Bit: number) != name { return nil }
        // The kernel takes an int: the upper half of the register may contain anything.
        let descriptor = Int32(truncatingIfNeeded: word)
        return descriptor >= 0 ? descriptor : nil
    }

    /// Whether the call suspends its caller until the child no longer uses the caller's memory, by execve(2) or its
    /// exit.
    ///
    /// The caller then sleeps uninterruptibly: vfork(2). Nil for clone3(2), whose flags are in the caller's memory.
    var suspendsForChild: Bool? {
        switch name {
        case "vfork": true
        case "clone": (arguments.first ?? 0) & 0x4000 != 0  // CLONE_VFORK, clone(2)
        case "clone3": nil
        default: false
        }
    }

    /// Whether this is the call that the kernel makes on a thread's behalf after a stop interrupted its sleep,
    /// restart_syscall(2): the number hides the original call.
    public var isRestart: Bool { name == "restart_syscall" }
}
