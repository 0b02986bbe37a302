// SPDX-License-Identifier: Apache-2.0

/// The goroutines of a Go program, as its runtime lists them.
public struct SnapshotGoroutines: Sendable, Equatable {
    /// The extent to which the list could be read.
    public enum Reading: UInt32, Sendable {
        /// All goroutines were looked at.
        case complete = 0
        /// The list was not found.
        case unknown = 1
        /// A part: a limit on time was reached, or one could not be read.
        case cut = 2
    }

    /// Goroutine states of the runtime, without the mark of the garbage collector.
    public enum Status: UInt32, Sendable {
        /// On a run queue.
        case runnable = 1
        /// On a thread.
        case running = 2
        /// In a system call, on a thread.
        case systemCall = 3
        /// Blocked in the runtime.
        case waiting = 4
        /// Its stack is moved.
        case copyingStack = 8
        /// Stopped for a moment, by the garbage collector.
        case preempted = 9
        /// Blocked, and found to be unreachable.
        case leaked = 10
    }

    /// One goroutine.
    public struct Goroutine: Sendable, Equatable {
        /// The ID in Go's own messages.
        public var id: UInt64
        /// The state.
        public var status: Status
        /// What it waits for, in Go's words; empty if it does not wait, or if that is unknown.
        public var reason: String
        /// A time of the monotonic clock at which it already waited, in nanoseconds; nil if unknown.
        public var waitingSince: UInt64?
        /// The thread on which it runs; nil if there is none, or if it is unknown.
        public var thread: Int32?
        /// The descriptor for which it waits; nil if there is none, or if it is unknown.
        public var descriptor: Int32?
        /// The address at which it goes on.
        public var programCounter: UInt64
        /// The stack pointer.
        public var stackPointer: UInt64
        /// The frame pointer.
        public var framePointer: UInt64
        /// The stack from the stack pointer on, possibly without its outer end; nil if the stack is that of a thread.
        public var stack: SnapshotMemory?
    }

    /// Go's version, such as `go1.22.10`; empty if unknown.
    public var version: String
    /// The extent to which the list could be read.
    public var reading: Reading
    /// How many goroutines exist, those of the runtime included.
    public var count: Int
    /// How many of them run, could run, or are in a system call.
    public var activeCount: Int
    /// The goroutines in the order of the runtime's list; not all of a crowd.
    public var goroutines: [Goroutine] = []
}
