// SPDX-License-Identifier: Apache-2.0

/// What an app has gone through, for reports and summaries.
public struct LifecycleRecord: Hashable, Sendable, Codable {
    /// A moment of its life.
    public struct Moment: Hashable, Sendable, Codable {
        /// When it was.
        public let at: Instant
        /// The state that began then.
        public let state: LifecycleState

        /// Creates a moment.
        public init(at: Instant, state: LifecycleState) {
            self.at = at
            self.state = state
        }
    }

    /// What the app's side of the lifecycle got wrong; tolerated, and counted.
    public struct Mistakes: Hashable, Sendable, Codable {
        /// Answers to a state that the app had already left behind.
        public var statesOutOfOrder = 0
        /// Answers to states that nobody asked for.
        public var unknownStates = 0
        /// Answers to events that were never sent, or were answered before.
        public var unknownEvents = 0
        /// Ends of tasks that were not open.
        public var unknownTasks = 0
        /// Beginnings of tasks under the number of an open one.
        public var repeatedTasks = 0

        /// Creates an account without mistakes.
        public init() {}

        /// How many there are.
        public var total: Int {
            statesOutOfOrder + unknownStates + unknownEvents + unknownTasks + repeatedTasks
        }
    }

    /// How many moments are kept: the latest.
    static let momentLimit = 64

    /// Whether the app said that it takes part.
    public internal(set) var takesPart = false
    /// The states so far, the latest last.
    public internal(set) var moments: [Moment] = []
    /// What the app got wrong.
    public internal(set) var mistakes = Mistakes()
    /// The tasks that are open, in the order in which they were begun.
    public internal(set) var openTasks: [BackgroundTask] = []
    /// How many tasks were begun.
    public internal(set) var taskCount = 0
    /// Times from the request to resume to the first answer; launches do not count.
    public internal(set) var resumes = LatencyHistogram()

    mutating func enter(_ state: LifecycleState, at now: Instant) {
        guard moments.last?.state != state else { return }
        if moments.count == Self.momentLimit { moments.removeFirst() }
        moments.append(Moment(at: now, state: state))
    }
}
