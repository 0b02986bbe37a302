// SPDX-License-Identifier: Apache-2.0

/// An app's transitions between foreground, background and suspension, as part of ``LinuxDetails``.
public struct LifecycleDetails: Codable, Equatable, Sendable {
    /// A background task that was open.
    public struct Task: Codable, Equatable, Sendable {
        /// The task's name, chosen by the app.
        public var name: String
        /// How long it had been open.
        public var ageNanoseconds: Int64

        /// Creates a task.
        public init(name: String, ageNanoseconds: Int64) {
            self.name = name
            self.ageNanoseconds = ageNanoseconds
        }
    }

    /// A locked file.
    public struct Lock: Codable, Equatable, Sendable {
        /// The path of the file.
        public var path: String
        /// `flock`, `fcntl`, `fcntl (open file)` or `SQLite`.
        public var kind: String
        /// Whether the lock keeps everyone else from reading the file.
        public var isExclusive: Bool
        /// The process that holds the lock.
        public var pid: Int

        /// Creates a lock.
        public init(path: String, kind: String, isExclusive: Bool, pid: Int) {
            self.path = path
            self.kind = kind
            self.isExclusive = isExclusive
            self.pid = pid
        }
    }

    /// A state that the app entered.
    public struct Moment: Codable, Equatable, Sendable {
        /// The state: `launching`, `foreground`, `inactive`, `background`, `suspended` or `terminating`.
        public var state: String
        /// When the state began, counted from the launch.
        public var nanoseconds: Int64

        /// Creates a moment.
        public init(state: String, nanoseconds: Int64) {
            self.state = state
            self.nanoseconds = nanoseconds
        }
    }

    /// The app's protocol mistakes.
    public struct Mistakes: Codable, Equatable, Sendable {
        /// Answers to states that the app had already left.
        public var statesOutOfOrder: Int
        /// Answers to states that watchdogd never requested.
        public var unknownStates: Int
        /// Answers to events that were never sent or that were already answered.
        public var unknownEvents: Int
        /// Ends of tasks that were not open.
        public var unknownTasks: Int
        /// Beginnings of tasks with the number of an open task.
        public var repeatedTasks: Int

        /// Creates the counts.
        public init(
            statesOutOfOrder: Int, unknownStates: Int, unknownEvents: Int, unknownTasks: Int, repeatedTasks: Int
        ) {
            self.statesOutOfOrder = statesOutOfOrder
            self.unknownStates = unknownStates
            self.unknownEvents = unknownEvents
            self.unknownTasks = unknownTasks
            self.repeatedTasks = repeatedTasks
        }
    }

    /// The cause of the incident in one line; nil when the lifecycle did not cause it.
    public var cause: String?
    /// The cause in a few words.
    public var brief: String?
    /// The open tasks, oldest first; at most 64 are kept.
    public var openTasks: [Task]
    /// How many tasks were open.
    public var openTaskCount: Int
    /// The files that were locked at suspension.
    public var lockedFiles: [Lock]
    /// The latest states, in order.
    public var history: [Moment]
    /// The app's protocol mistakes; nil when there were none.
    public var mistakes: Mistakes?
    /// How often the app was resumed from suspension.
    public var resumeCount: Int
    /// How long the slowest of these took.
    public var slowestResumeNanoseconds: Int64?

    /// Creates details.
    public init(
        cause: String? = nil, brief: String? = nil, openTasks: [Task] = [], openTaskCount: Int = 0,
        lockedFiles: [Lock] = [], history: [Moment] = [], mistakes: Mistakes? = nil, resumeCount: Int = 0,
        slowestResumeNanoseconds: Int64? = nil
    ) {
        self.cause = cause
        self.brief = brief
        self.openTasks = openTasks
        self.openTaskCount = openTaskCount
        self.lockedFiles = lockedFiles
        self.history = history
        self.mistakes = mistakes
        self.resumeCount = resumeCount
        self.slowestResumeNanoseconds = slowestResumeNanoseconds
    }
}
