// SPDX-License-Identifier: Apache-2.0

/// What one blocked thread waits for, and who holds it.
///
/// Text of processes is made safe for terminals and cut when the value is created.
public struct WaitDetails: Codable, Hashable, Sendable {
    /// Who holds what is waited for, or is itself waited for.
    public struct Holder: Codable, Hashable, Sendable {
        /// What it has to do with the wait.
        public enum Relation: String, Codable, Sendable, CaseIterable {
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
        public var relation: Relation
        /// The process.
        public var process: Int
        /// The thread; nil when the process holds it as a whole.
        public var thread: Int?
        /// The name that the thread or process has given itself.
        public var name: String
        /// The letter of its state, where that was read.
        public var state: String?
        /// The kernel's priority, where that was read: less is more urgent, 20 is usual, below 0 is real-time.
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

    /// The process that waits.
    public var process: Int
    /// The thread that waits.
    public var thread: Int
    /// The name that the thread has given itself.
    public var name: String
    /// The system call, as the kernel writes it.
    public var syscall: String
    /// What the call works on; nil when nothing is known of it.
    public var subject: String?
    /// Who holds it.
    public var holder: Holder?
    /// The kernel's priority of the thread that waits, where that was read.
    public var priority: Int?
    /// True for the waits that wait for each other in a circle.
    public var isDeadlocked: Bool
    /// The files and calls that said so.
    public var sources: [String]

    /// Creates a wait; a subject without text is none.
    public init(
        process: Int, thread: Int, name: String, syscall: String, subject: String?, holder: Holder? = nil,
        isDeadlocked: Bool = false, sources: [String]
    ) {
        self.process = process
        self.thread = thread
        self.name = name.singleLine(limit: 64)
        self.syscall = syscall.singleLine(limit: 256)
        self.subject = subject.flatMap { $0.isEmpty ? nil : $0.singleLine(limit: ReportLimits.lineLength / 2) }
        self.holder = holder
        self.isDeadlocked = isDeadlocked
        self.sources = sources.prefix(16).map { $0.singleLine(limit: 255) }
    }
}
