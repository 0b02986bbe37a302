// SPDX-License-Identifier: Apache-2.0

public import WatchdogVerdict

/// What the kernel says about a thread, and how reliable its stack is.
public struct ThreadDetails: Codable, Equatable, Sendable {
    /// The kernel's thread ID.
    public var id: Int
    /// The letter of the thread's state.
    public var state: String
    /// The kernel function that the thread slept in.
    public var waitChannel: String?
    /// The system call that the thread was in, as the kernel writes it.
    public var syscall: String?
    /// The kernel stack, innermost frame first.
    public var kernelStack: [String]
    /// The time on a CPU since the thread started.
    public var runNanoseconds: UInt64
    /// The time runnable without a CPU since the thread started.
    public var runDelayNanoseconds: UInt64
    /// How often the thread slept.
    public var voluntarySwitches: UInt64
    /// How often the thread was preempted.
    public var involuntarySwitches: UInt64
    /// How each frame was found, in the order of ``ThreadInfo/frames``.
    public var trust: [Frame.Trust]
    /// Swift's asynchronous callers, nearest first; they are not part of the machine stack.
    public var asynchronousFrames: [FrameInfo]
}
