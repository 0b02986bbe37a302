// SPDX-License-Identifier: Apache-2.0

/// An app's transitions between foreground, background and suspension, as part of ``LinuxDetails``.
public struct LifecycleDetails: Codable, Equatable, Sendable {
    /// A background task that was open.
    public struct Task: Codable, Equatable, Sendable {
        /// The task's name, chosen by the app.
        public var name: String
        /// The time for which it had been open.
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
        /// Whether the lock also excludes readers.
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
        /// The start of the state, relative to the launch.
        public var nanoseconds: Int64

        /// Creates a moment.
        public init(state: String, nanoseconds: Int64) {
            self.state = state
            self.nanoseconds = nanoseconds
        }
    }

    /// The app's protocol mistakes.
    public struct Mistakes: Codable, Equatable, Sendable {
        /// The number of answers to states that the app had already left.
        public var statesOutOfOrder: Int
        /// The number of answers to states that watchdogd never requested.
        public var unknownStates: Int
        /// The number of answers to events that were never sent or were already answered.
        public var unknownEvents: Int
        /// The number of ends of tasks that were not open.
        public var unknownTasks: Int
        /// The number of beginnings of tasks with the number of an open task.
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

    /// The cause of the incident in one line; nil if the lifecycle did not cause it.
    public var cause: String?
    /// The cause in a few words.
    public var brief: String?
    /// The open tasks, oldest first; at most 64 are kept.
    public var openTasks: [Task]
    /// The number of open tasks.
    public var openTaskCount: Int
    /// The files that were locked at suspension.
    public var lockedFiles: [Lock]
    /// The latest states, in order.
    public var history: [Moment]
    /// The app's protocol mistakes; nil without any.
    public var mistakes: Mistakes?
    /// The number of resumes from suspension.
    public var resumeCount: Int
    /// The duration of the slowest resume.
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
