// SPDX-License-Identifier: Apache-2.0

/// What one blocked thread waits for.
public struct Wait: Hashable, Sendable {
    /// Who can end the wait.
    public struct Holder: Hashable, Sendable {
        /// What it has to do with the wait.
        public enum Relation: String, Sendable {
            /// It holds the lock in memory.
            case holds
            /// It holds the file lock.
            case locks
            /// It is the child that is waited for.
            case child
            /// It is one of the children, any of which would do.
            case anyChild = "any-child"
            /// It is the thread whose end is waited for.
            case ends
        }

        /// What it has to do with the wait.
        public let relation: Relation
        /// The process.
        public let process: Int32
        /// The thread; nil when the process holds it as a whole.
        public let thread: Int32?
        /// The name of the thread or process, chosen by itself.
        public let name: String
        /// The letter of its state, where that was read.
        public let state: ProcessStat.State?
    }

    /// The process.
    public let process: Int32
    /// The thread.
    public let thread: Int32
    /// The thread's name, chosen by itself.
    public let name: String
    /// The text of `/proc/PID/task/TID/syscall`.
    public let syscall: String
    /// What the call works on, without its holder: `mutex`, or `fd 7: pipe`; empty when nothing is known of it.
    public let subject: String
    /// Who holds what is waited for, or is waited for.
    public let holder: Holder?
    /// The files and calls that said so.
    public let sources: [String]
}

/// A thread's wait, its holder's wait, and so on.
public struct WaitChain: Hashable, Sendable {
    /// The first is the thread that was asked for; each next one is the holder of the one before.
    public let waits: [Wait]
    /// The index of the wait whose thread holds what the last one waits for: a deadlock; nil when there is none.
    public let cycleStart: Int?
}
