// SPDX-License-Identifier: Apache-2.0

public import WatchdogVerdict

/// The kernel's facts about a thread, and the reliability of its stack.
public struct ThreadDetails: Codable, Equatable, Sendable {
    /// The kernel's thread ID.
    public var id: Int
    /// The letter of the thread's state.
    public var state: String
    /// The kernel function in which the thread slept.
    public var waitChannel: String?
    /// The system call of the thread, verbatim from the kernel.
    public var syscall: String?
    /// The kernel stack, innermost frame first.
    public var kernelStack: [String]
    /// The time on a CPU since the thread started.
    public var runNanoseconds: UInt64
    /// The time runnable without a CPU since the thread started.
    public var runDelayNanoseconds: UInt64
    /// The number of times that the thread blocked.
    public var voluntarySwitches: UInt64
    /// The number of times that the thread was preempted.
    public var involuntarySwitches: UInt64
    /// The method that found each frame, in the order of ``ThreadInfo/frames``.
    public var trust: [Frame.Trust]
    /// Swift's asynchronous callers, nearest first; they are not part of the machine stack.
    public var asynchronousFrames: [FrameInfo]
}
