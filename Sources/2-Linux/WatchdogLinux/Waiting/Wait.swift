// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// What one blocked thread waits for.
public struct Wait: Hashable, Sendable {
    /// The process or thread that can end the wait.
    public struct Holder: Hashable, Sendable {
        /// The holder's role in the wait.
        public let relation: WaitRelation
        /// The process ID.
        public let process: Int32
        /// The thread ID; nil if the process as a whole holds it.
        public let thread: Int32?
        /// The name that the thread or process gave itself.
        public let name: String
        /// Its state, if it was read.
        public let state: ProcessStat.State?
    }

    /// The ID of the waiting process.
    public let process: Int32
    /// The ID of the waiting thread.
    public let thread: Int32
    /// The name that the thread gave itself.
    public let name: String
    /// The contents of `/proc/PID/task/TID/syscall`.
    public let syscall: String
    /// What the call works on, without its holder: `mutex`, or `fd 7: pipe`; empty if unknown.
    public let subject: String
    /// The address of the socket's other end: `127.0.0.1:8080`, `[::1]:8080`, a path, or an abstract name after `@`; nil if
    /// the call works on no socket, or on one without a known peer.
    public let peer: String?
    /// Who holds what is waited for, or whose end is waited for.
    public let holder: Holder?
    /// The files and calls that this was read from.
    public let sources: [String]
}

/// A thread's wait, its holder's wait, and so on.
public struct WaitChain: Hashable, Sendable {
    /// The first wait is that of the given thread; each further one is that of the previous wait's holder.
    public let waits: [Wait]
    /// The index of the wait whose thread holds what the last one waits for, which is a deadlock; nil if there is none.
    public let cycleStart: Int?
}
