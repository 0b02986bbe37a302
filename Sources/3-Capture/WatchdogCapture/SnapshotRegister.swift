// SPDX-License-Identifier: Apache-2.0

/// The registers of x86-64, in snapshot order.
///
/// The first seventeen have their DWARF numbers: System V psABI, figure 3.36.
public enum SnapshotRegister: Int, Sendable, CaseIterable {
    /// Return value.
    case rax
    /// Third argument.
    case rdx
    /// Fourth argument.
    case rcx
    /// Callee-saved.
    case rbx
    /// Second argument.
    case rsi
    /// First argument.
    case rdi
    /// Frame pointer, in code that keeps one.
    case rbp
    /// Stack pointer.
    case rsp
    /// Fifth argument.
    case r8
    /// Sixth argument.
    case r9
    /// Scratch.
    case r10
    /// Scratch.
    case r11
    /// Callee-saved.
    case r12
    /// Callee-saved; Swift's self.
    case r13
    /// Callee-saved; Swift's asynchronous context.
    case r14
    /// Callee-saved.
    case r15
    /// Program counter.
    case rip
    /// Flags.
    case rflags
    /// The number of the system call; all ones outside of one.
    case origRax
    /// Code segment.
    case cs
    /// Stack segment.
    case ss
    /// Base of the fs segment: the thread control block.
    case fsBase
    /// Base of the gs segment.
    case gsBase

    /// The name as spelled by debuggers.
    public var name: String {
        switch self {
        case .origRax: "orig_rax"
        case .fsBase: "fs_base"
        case .gsBase: "gs_base"
        default: "\(self)"
        }
    }
}
