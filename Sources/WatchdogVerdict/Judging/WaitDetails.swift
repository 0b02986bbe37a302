// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// What one blocked thread waits for, and who holds it.
///
/// Text from processes is made safe for terminals and truncated when the value is created.
public struct WaitDetails: Codable, Hashable, Sendable {
    /// The process or thread that holds what another one waits for, or whose end it waits for.
    public struct Holder: Codable, Hashable, Sendable {
        /// The holder's role in the wait.
        public enum Relation: String, Codable, Sendable, CaseIterable {
            /// It holds the lock in memory.
            case holds
            /// It holds the file lock.
            case locks
            /// It is the child being waited for.
            case child
            /// It is one of several children, any of which would end the wait.
            case anyChild = "any-child"
            /// It is the thread being joined.
            case ends
        }

        /// The holder's role in the wait.
        public var relation: Relation
        /// The process ID.
        public var process: Int
        /// The thread ID; nil when the process as a whole holds it.
        public var thread: Int?
        /// The name that the thread or process gave itself.
        public var name: String
        /// The letter of its state, if it was read.
        public var state: String?
        /// The kernel's priority, if it was read: lower is more urgent, 20 is the default, negative is real-time.
        public var priority: Int?

        /// Creates a holder.
        public init(
            relation: Relation, process: Int, thread: Int? = nil, name: String, state: String? = nil,
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
    /// The name that the thread gave itself.
    public var name: String
    /// The system call, as the kernel writes it.
    public var syscall: String
    /// What the call works on; nil when nothing is known about it.
    public var subject: String?
    /// Who holds it.
    public var holder: Holder?
    /// The waiting thread's kernel priority, if it was read.
    public var priority: Int?
    /// Whether the wait is part of a cycle.
    public var isDeadlocked: Bool
    /// The files and calls that this was read from.
    public var sources: [String]

    /// Creates a wait; an empty subject becomes nil.
    public init(
        process: Int, thread: Int, name: String, syscall: String, subject: String?, holder: Holder? = nil,
        isDeadlocked: Bool = false, sources: [String]
    ) {
        self.process = process
        self.thread = thread
        self.name = name.singleLine(limit: 64)
        self.syscall = syscall.singleLine(limit: 256)
        self.subject = subject.flatMap { $0.isEmpty ? nil : $0.singleLine(limit: Self.subjectLength) }
        self.holder = holder
        self.isDeadlocked = isDeadlocked
        self.sources = sources.prefix(16).map { $0.singleLine(limit: 255) }
    }
}
