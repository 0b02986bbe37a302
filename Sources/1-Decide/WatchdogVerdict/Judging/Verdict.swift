// SPDX-License-Identifier: Apache-2.0

/// The cause of a missing answer or of the process's end, in one word and in one line.
public struct Verdict: Codable, Hashable, Sendable {
    /// The kind of a verdict.
    public enum Kind: String, Codable, Sendable, CaseIterable {
        /// The main thread slept.
        case blocked
        /// The main thread computed.
        case spinning
        /// The main thread was runnable but got no CPU: the machine's fault.
        case starved
        /// The process's cgroup had used up its CPU quota.
        case throttled
        /// The main thread waited for memory to be freed or read back.
        case memoryStalled = "memory-stalled"
        /// The main thread alternated between running and waiting for a CPU, and hardly slept.
        case busy
        /// The main thread ran for a part of the window and slept for another part.
        case partlyRunning = "partly running"
        /// The main thread was in uninterruptible sleep, usually because of a device.
        case uninterruptible
        /// A signal had stopped the process.
        case stopped
        /// A debugger held the process.
        case traced
        /// The cgroup was frozen.
        case frozen
        /// The main thread had exited, but other threads kept the process alive.
        case exited
        /// The evidence is missing or ambiguous.
        case unknown
        /// A signal caused by its own code killed the process.
        case crashed
        /// Another process killed the process, or the kernel did because memory ran out.
        case killed
        /// The process exited with a nonzero code.
        case failed
    }

    /// The beginning of ``brief`` if a deadlock blocks the main thread.
    package static let deadlock = "deadlock"

    /// The kind of the verdict.
    public var kind: Kind
    /// The share of the window on a CPU, in tenths of a percent; nil if unknown.
    public var runningTenths: Int?
    /// The share of the window runnable without a CPU, in tenths of a percent; nil if unknown.
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
