// SPDX-License-Identifier: Apache-2.0

/// One thread in a snapshot: the kernel's facts about it, its registers, and the bytes of its stack.
public struct SnapshotThread: Sendable {
    /// The source of the registers.
    public enum RegisterSource: UInt8, Sendable {
        /// There are none.
        case none = 0
        /// All of them, from the stopped thread.
        case ptrace = 1
        /// Only `rsp`, `rip` and, inside a system call, `origRax` and the registers of its six arguments.
        case syscallFile = 2
    }

    /// The kernel's thread ID.
    public var id: Int32
    /// The thread's name (`comm`).
    public var name: String
    /// The state letter from field 3 of `/proc/PID/task/TID/stat`, before the freeze; `?` if unknown.
    public var state: String
    /// The source of the registers.
    public var registerSource: RegisterSource
    /// The registers, indexed by ``SnapshotRegister``'s raw value; all zero without a source.
    public var registers: [UInt64]
    /// Nanoseconds on a CPU (schedstat field 1).
    public var runNanoseconds: UInt64
    /// Nanoseconds runnable but waiting for a CPU (schedstat field 2).
    public var runDelayNanoseconds: UInt64
    /// The number of times that the thread was given a CPU (schedstat field 3).
    public var slices: UInt64
    /// The number of times that the thread blocked.
    public var voluntarySwitches: UInt64
    /// The number of times that the thread was preempted.
    public var involuntarySwitches: UInt64
    /// Clock ticks in user mode.
    public var userTicks: UInt64
    /// Clock ticks in the kernel.
    public var systemTicks: UInt64
    /// `/proc/PID/task/TID/wchan`, or an empty string.
    public var waitChannel: String
    /// `/proc/PID/task/TID/syscall`, or an empty string.
    public var systemCall: String
    /// `/proc/PID/task/TID/stack`, or an empty string.
    public var kernelStack: String
    /// A part of the stack, from just below the stack pointer upward; nil if there is none.
    public var stack: SnapshotMemory?
    /// A part of the stack that a signal handler on an alternate stack has interrupted; nil if there is none.
    public var interruptedStack: SnapshotMemory?
    /// The outermost part of the stack, or of the interrupted one, if the other parts do not reach it.
    public var outerStack: SnapshotMemory?

    /// The registers of a system call's arguments, syscall(2).
    private static let arguments: Set<SnapshotRegister> = [.rdi, .rsi, .rdx, .r10, .r8, .r9]

    private var isInCall: Bool { Int64(bitPattern: registers[SnapshotRegister.origRax.rawValue]) >= 0 }

    /// The value of `register`; nil if it was not captured.
    public subscript(register: SnapshotRegister) -> UInt64? {
        switch registerSource {
        case .none: nil
        case .ptrace: registers[register.rawValue]
        case .syscallFile where register == .rsp || register == .rip: registers[register.rawValue]
        // Outside system calls, the file shows no argument registers, and the number is -1.
        case .syscallFile where Self.arguments.contains(register): isInCall ? registers[register.rawValue] : nil
        case .syscallFile: nil
        }
    }
}
