// SPDX-License-Identifier: Apache-2.0

/// What the main thread did while it did not answer, or how the process ended, in one word and in one line.
public struct Verdict: Codable, Hashable, Sendable {
    /// What happened.
    public enum Kind: String, Codable, Sendable, CaseIterable {
        /// It slept.
        case blocked
        /// It computed.
        case spinning
        /// It was runnable but got no CPU: the machine's fault.
        case starved
        /// Its cgroup's CPU quota was used up.
        case throttled
        /// It waited for memory to be freed or read back.
        case memoryStalled = "memory-stalled"
        /// It neither slept nor had a CPU to itself: it alternated between running and waiting for a CPU.
        case busy
        /// It ran for part of the window and slept for another part.
        case partlyRunning = "partly running"
        /// It was in uninterruptible sleep, usually because of a device.
        case uninterruptible
        /// A signal had stopped it.
        case stopped
        /// A debugger held the process.
        case traced
        /// The cgroup was frozen.
        case frozen
        /// It had exited, but other threads kept the process alive.
        case exited
        /// There is no evidence.
        case unknown
        /// A signal caused by its own code killed the process.
        case crashed
        /// Another process killed it, or the kernel did because memory ran out.
        case killed
        /// It exited with a nonzero code.
        case failed
    }

    /// How ``brief`` begins when locks that wait for each other keep the main thread blocked.
    package static let deadlock = "deadlock"

    /// What happened.
    public var kind: Kind
    /// The share of the window on a CPU, in tenths of a percent; nil when unknown.
    public var runningTenths: Int?
    /// The share of the window runnable without a CPU, in tenths of a percent; nil when unknown.
    public var waitingTenths: Int?
    /// One line for the reader, without a trailing period.
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
