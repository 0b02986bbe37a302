// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// The wait of one blocked thread, and the holder of what it waits for.
///
/// Text from processes is made safe for terminals and truncated when the value is created.
public struct WaitDetails: Codable, Hashable, Sendable {
    /// A process or thread that holds an awaited lock, or whose end is awaited.
    public struct Holder: Codable, Hashable, Sendable {
        /// The holder's role in the wait.
        public var relation: WaitRelation
        /// The process ID.
        public var process: Int
        /// The thread ID; nil if the process as a whole is the holder.
        public var thread: Int?
        /// The name of the thread or process (`comm`), which it can set.
        public var name: String
        /// The letter of its state, if it was read.
        public var state: String?
        /// The kernel's priority, if it was read: lower is more urgent, 20 is the default, negative is real-time.
        public var priority: Int?

        /// Creates a holder.
        public init(
            relation: WaitRelation, process: Int, thread: Int? = nil, name: String, state: String? = nil,
            priority: Int? = nil
        ) {
            self.relation = relation
            self.process = process
            self.thread = thread
            self.name = name.singleLine(limit: 64)
            self.state = state?.singleLine(limit: 8)
            self.priority = priority
        }
    }

    private static let subjectLength = 1_024

    /// The ID of the waiting process.
    public var process: Int
    /// The ID of the waiting thread.
    public var thread: Int
    /// The name of the thread (`comm`), which it can set.
    public var name: String
    /// The system call, by the kernel's name.
    public var syscall: String
    /// The object of the call; nil if unknown.
    public var subject: String?
    /// The address of the other end of the socket: `127.0.0.1:8080`, `[::1]:8080`, a path, or an abstract name after `@`;
    /// nil if the call works on no socket, or its peer is unknown.
    public var peer: String?
    /// The holder; nil if unknown.
    public var holder: Holder?
    /// The waiting thread's kernel priority, if it was read.
    public var priority: Int?
    /// Whether the wait is part of a cycle.
    public var isDeadlocked: Bool
    /// The files and calls from which this was read.
    public var sources: [String]

    /// Creates a wait; an empty subject becomes nil.
    public init(
        process: Int, thread: Int, name: String, syscall: String, subject: String?, peer: String? = nil,
        holder: Holder? = nil, isDeadlocked: Bool = false, sources: [String]
    ) {
        self.process = process
        self.thread = thread
        self.name = name.singleLine(limit: 64)
        self.syscall = syscall.singleLine(limit: 256)
        self.subject = subject.flatMap { $0.isEmpty ? nil : $0.singleLine(limit: Self.subjectLength) }
        self.peer = peer?.singleLine(limit: 255)
        self.holder = holder
        self.isDeadlocked = isDeadlocked
        self.sources = sources.prefix(16).map { $0.singleLine(limit: 255) }
    }
}
