// SPDX-License-Identifier: Apache-2.0

/// What an app has gone through between foreground, background and suspension, as part of ``LinuxDetails``.
public struct LifecycleDetails: Codable, Equatable, Sendable {
    /// A background task that was open.
    public struct Task: Codable, Equatable, Sendable {
        /// What it is, in the app's words.
        public var name: String
        /// How long it had been open.
        public var ageNanoseconds: Int64

        /// Creates a task.
        public init(name: String, ageNanoseconds: Int64) {
            self.name = name
            self.ageNanoseconds = ageNanoseconds
        }
    }

    /// A file that was locked.
    public struct Lock: Codable, Equatable, Sendable {
        /// The file.
        public var path: String
        /// `flock`, `fcntl`, `fcntl (open file)` or `SQLite`.
        public var kind: String
        /// Whether nobody else can read it meanwhile.
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

    /// A state that the app came into.
    public struct Moment: Codable, Equatable, Sendable {
        /// The state: `launching`, `foreground`, `inactive`, `background`, `suspended` or `terminating`.
        public var state: String
        /// When it began, counted from the launch.
        public var nanoseconds: Int64

        /// Creates a moment.
        public init(state: String, nanoseconds: Int64) {
            self.state = state
            self.nanoseconds = nanoseconds
        }
    }

    /// What the app's side got wrong.
    public struct Mistakes: Codable, Equatable, Sendable {
        /// Answers to states that it had already left behind.
        public var statesOutOfOrder: Int
        /// Answers to states that nobody asked for.
        public var unknownStates: Int
        /// Answers to events that were never sent, or were answered before.
        public var unknownEvents: Int
        /// Ends of tasks that were not open.
        public var unknownTasks: Int
        /// Beginnings of tasks under the number of an open one.
        public var repeatedTasks: Int

        /// Creates an account.
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

    /// What the incident is, in one line; nil when the lifecycle did not cause it.
    public var cause: String?
    /// The same in a few words.
    public var brief: String?
    /// The tasks that were open, the oldest first; at most 64 are kept.
    public var openTasks: [Task]
    /// How many were open.
    public var openTaskCount: Int
    /// The files that were locked on suspension.
    public var lockedFiles: [Lock]
    /// The states, in order; the latest ones.
    public var history: [Moment]
    /// What the app's side got wrong; nil when there was nothing.
    public var mistakes: Mistakes?
    /// How often it was resumed.
    public var resumeCount: Int
    /// The slowest resume.
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
