// SPDX-License-Identifier: Apache-2.0

/// The path of a thread's wait across processes: the process that it waits for, the one that this waits for, and so on.
public struct WaitTrail: Hashable, Sendable {
    /// How the wait of one process leads to the next one.
    public enum Link: String, Sendable, CaseIterable {
        /// It has to send something over a connection.
        case reply
        /// It has to read what was sent over a connection.
        case room
        /// It has to accept a connection.
        case acceptance
        /// It has to write into a pipe.
        case output
        /// It has to read from a pipe.
        case drain
        /// It holds a lock of flock(2).
        case fileLock = "file-lock"
        /// It holds a record lock of fcntl(2).
        case recordLock = "record-lock"
        /// It holds a lock in memory that processes share.
        case mutex
        /// It is a child whose end, or program, is awaited.
        case child
        /// It serves a file system.
        case fileServer = "file-server"
    }

    /// How much may be revealed about a process.
    public enum Sight: String, Sendable, CaseIterable {
        /// Everything.
        case whole
        /// What everybody may see, because the app's user may not read it.
        case outside
        /// The same, because watchdogd itself may not read it.
        case refused
    }

    /// A process on the trail.
    public struct Hop: Hashable, Sendable {
        /// How the process before leads to it.
        public let link: Link
        /// The process ID.
        public let process: Int32
        /// The ID of the parent process.
        public let parent: Int32
        /// The name that the process gave itself.
        public let name: String
        /// When it was created, in clock ticks since boot.
        public let startTime: UInt64
        /// How much may be revealed about it.
        public let sight: Sight
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
    public internal(set) var closing: Link?
    /// Whether the last process waits for yet another one, which was not looked at.
    public internal(set) var isCut = false

    /// The longest trail.
    public static let longest = 5
}
