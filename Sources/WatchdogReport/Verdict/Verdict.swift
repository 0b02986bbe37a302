// SPDX-License-Identifier: Apache-2.0

/// What the main thread did while it did not answer, or how the process ended, in one word and in one line.
public struct Verdict: Codable, Hashable, Sendable {
    /// What happened.
    public enum Kind: String, Codable, Sendable, CaseIterable {
        /// It slept.
        case blocked
        /// It computed.
        case spinning
        /// It could run, but got no CPU: the machine's fault.
        case starved
        /// The CPU quota of its cgroup was used up.
        case throttled
        /// It waited for memory that was being freed or read back.
        case memoryStalled = "memory-stalled"
        /// It neither slept nor got the CPU for itself: running and waiting for a CPU by turns.
        case busy
        /// It ran for a part of the window and slept for another.
        case partlyRunning = "partly running"
        /// It slept where no signal reaches it, mostly for a device.
        case uninterruptible
        /// A signal had stopped it.
        case stopped
        /// A debugger held the process.
        case traced
        /// The cgroup was frozen.
        case frozen
        /// It had ended, but other threads kept the process alive.
        case exited
        /// There is no evidence.
        case unknown
        /// A signal that its own code brought about ended the process.
        case crashed
        /// Somebody else ended the process, or the kernel for want of memory.
        case killed
        /// It exited with a code other than 0.
        case failed
    }

    /// What happened.
    public var kind: Kind
    /// The share of the window on a CPU, in tenths of a percent; nil when it is not known.
    public var runningTenths: Int?
    /// The share of the window runnable without a CPU, in tenths of a percent; nil when it is not known.
    public var waitingTenths: Int?
    /// One line for the reader, without a final stop.
    public var line: String
    /// A few words for a list: `blocked in recvfrom`.
    public var brief: String

    /// Creates a verdict from its parts.
    public init(kind: Kind, runningTenths: Int? = nil, waitingTenths: Int? = nil, line: String, brief: String) {
        self.kind = kind
        self.runningTenths = runningTenths
        self.waitingTenths = waitingTenths
        self.line = line
        self.brief = brief
    }
}
