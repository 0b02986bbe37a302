// SPDX-License-Identifier: Apache-2.0

/// The registers of x86-64 in the order of a snapshot.
///
/// The first seventeen are numbered as in DWARF: System V psABI, figure 3.36.
public enum SnapshotRegister: Int, Sendable, CaseIterable {
    /// Return value.
    case rax
    /// Third argument.
    case rdx
    /// Fourth argument.
    case rcx
    /// Kept across calls.
    case rbx
    /// Second argument.
    case rsi
    /// First argument.
    case rdi
    /// Frame pointer, where code keeps one.
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
    /// Kept across calls.
    case r12
    /// Kept across calls; Swift's self.
    case r13
    /// Kept across calls; Swift's asynchronous context.
    case r14
    /// Kept across calls.
    case r15
    /// Program counter.
    case rip
    /// Flags.
    case rflags
    /// Number of the system call, or all ones outside of one.
    case origRax
    /// Code segment.
    case cs
    /// Stack segment.
    case ss
    /// Base of the fs segment: the thread's control block.
    case fsBase
    /// Base of the gs segment.
    case gsBase

    /// The name as debuggers spell it.
    public var name: String {
        switch self {
        case .origRax: "orig_rax"
        case .fsBase: "fs_base"
        case .gsBase: "gs_base"
        default: "\(self)"
        }
    }
}
