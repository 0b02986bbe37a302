// SPDX-License-Identifier: Apache-2.0

/// What the kernel says of a thread, and how far its stack can be trusted.
public struct ThreadDetails: Codable, Equatable, Sendable {
    /// The kernel's thread id.
    public var id: Int
    /// The letter of its state.
    public var state: String
    /// The kernel function it slept in.
    public var waitChannel: String?
    /// The system call it was in, as the kernel writes it.
    public var syscall: String?
    /// The kernel's stack, innermost first.
    public var kernelStack: [String]
    /// Time on a CPU since the thread began.
    public var runNanoseconds: UInt64
    /// Time runnable without a CPU since the thread began.
    public var runDelayNanoseconds: UInt64
    /// Times it slept.
    public var voluntarySwitches: UInt64
    /// Times it was preempted.
    public var involuntarySwitches: UInt64
    /// How each frame was found, in the order of ``ThreadInfo/frames``.
    public var trust: [Frame.Trust]
    /// Swift's asynchronous callers, nearest first; no part of the machine's stack.
    public var asynchronousFrames: [FrameInfo]
}
