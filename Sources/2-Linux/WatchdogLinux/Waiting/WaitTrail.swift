// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// The path of a thread's wait across processes: the process that it waits for, the one that this waits for, and so on.
public struct WaitTrail: Hashable, Sendable {
    /// A process on the trail.
    public struct Hop: Hashable, Sendable {
        /// How the process before leads to it.
        public let link: TrailLink
        /// The process ID.
        public let process: Int32
        /// The ID of the parent process.
        public let parent: Int32
        /// The name that the process gave itself.
        public let name: String
        /// When it was created, in clock ticks since boot.
        public let startTime: UInt64
        /// How much may be revealed about it.
        public let sight: TrailSight
        /// The thread that was looked at.
        public let thread: Int32
        /// The state of that thread.
        public let state: ProcessStat.State
        /// What that thread is blocked in; nil unless it is blocked in a system call that may be revealed.
        public let wait: Wait?
        /// Whether it waits for a request, as a server does that has nothing to do.
        public let isIdle: Bool
    }

    /// The processes, nearest first; never the same one twice.
    public internal(set) var hops: [Hop] = []
    /// Where the last process leads back to: 0 for the process where the trail begins, 1 for the first hop, and so on; nil if
    /// it does not.
    public internal(set) var cycleStart: Int?
    /// How the last process leads back; nil if it does not.
    public internal(set) var closing: TrailLink?
    /// Whether the last process waits for yet another one, which was not looked at.
    public internal(set) var isCut = false

    /// The longest trail.
    public static let longest = 5
}
