// SPDX-License-Identifier: Apache-2.0

/// The activity of one thread during the launch.
public struct ThreadLane: Equatable, Sendable {
    /// The thread's id.
    public var threadID: Int32
    /// Its process's id.
    public var processID: Int32
    /// Its last name.
    public var name: String
    /// The scheduling policy and priority; nil if it ended before that could be read.
    public var scheduling: ThreadScheduling?
    /// The time of its creation, relative to the request.
    public var begin: Duration
    /// The time of its exit; nil if it still ran at the end of the recording.
    public var end: Duration?
    /// In order of time, without gaps from `begin` to the end.
    public var spans: [LaneSpan]
    /// The kernel's own account (schedstat), for checking the spans; nil if unknown.
    ///
    /// On rung A, it excludes the thread's exit, which is not part of its lane.
    public var accounting: ThreadTime?

    /// Creates a lane.
    public init(
        threadID: Int32, processID: Int32, name: String, scheduling: ThreadScheduling? = nil, begin: Duration,
        end: Duration? = nil, spans: [LaneSpan] = [], accounting: ThreadTime? = nil
    ) {
        self.threadID = threadID
        self.processID = processID
        self.name = name
        self.scheduling = scheduling
        self.begin = begin
        self.end = end
        self.spans = spans
        self.accounting = accounting
    }
}

/// The kernel's scheduling parameters of a thread: sched(7).
public struct ThreadScheduling: Equatable, Sendable, Codable {
    /// "SCHED_OTHER", "SCHED_RR".
    public var policy: String
    /// The nice value.
    public var nice: Int
    /// The real-time priority; 0 for ordinary policies.
    public var priority: Int
    /// The CPUs that it may use, as in "0-1,4".
    public var affinity: String

    /// Creates a description.
    public init(policy: String, nice: Int, priority: Int, affinity: String) {
        self.policy = policy
        self.nice = nice
        self.priority = priority
        self.affinity = affinity
    }
}

/// A part of a lane in which the thread's state did not change.
public struct LaneSpan: Equatable, Sendable {
    /// The states of Apple's thread-state trace.
    public enum State: String, Sendable, Codable, CaseIterable {
        case running
        /// It is runnable, but another thread took its CPU.
        case preempted
        /// It was woken and waits for a CPU.
        case runnable
        case blocked
        /// Blocked, or waiting for a CPU: the rung does not show when it was woken.
        case blockedOrRunnable
    }

    /// The thread's state.
    public var state: State
    /// The start, relative to the request.
    public var begin: Duration
    /// The end, relative to the request.
    public var end: Duration
    /// The name of the system call in which it is blocked, and if that was examined, what it waits for in parentheses;
    /// followed by `, uninterruptible` if that is known.
    public var detail: String?
    /// The waker that ended the block.
    public var waker: Waker?
    /// The CPU on which it ran.
    public var processor: Int?

    /// The ``detail`` of a stop by the recorder.
    public static let recorderStop = "stopped by the recorder"

    /// The duration.
    public var wall: Duration { end - begin }
    /// The name of the system call of ``detail``.
    var call: Substring? { detail?.prefix { $0 != " " && $0 != "," } }
    /// Whether the recorder caused the block: it holds the program until the request, and stops it in its execve(2).
    public var isRecorderStop: Bool { detail == Self.recorderStop }

    /// Creates a span.
    public init(
        state: State, begin: Duration, end: Duration, detail: String? = nil, waker: Waker? = nil, processor: Int? = nil
    ) {
        self.state = state
        self.begin = begin
        self.end = end
        self.detail = detail
        self.waker = waker
        self.processor = processor
    }
}

/// The waker of a thread.
public enum Waker: Equatable, Sendable {
    /// A thread, with its name; its nice value if known, and whether it belongs to the program.
    case thread(id: Int32, name: String, nice: Int?, isOwn: Bool)
    /// A timer, a device or a packet.
    case interrupt
}
