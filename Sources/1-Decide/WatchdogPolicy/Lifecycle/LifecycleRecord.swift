// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// The history of an app, for reports and summaries.
public struct LifecycleRecord: Hashable, Sendable, Codable {
    /// A change of state.
    public struct Moment: Hashable, Sendable, Codable {
        /// When it was.
        public let at: Instant
        /// The state that began then.
        public let state: LifecycleState

        private enum CodingKeys: String, CodingKey { case at, state }

        /// Creates a change of state.
        public init(at: Instant, state: LifecycleState) {
            self.at = at
            self.state = state
        }
    }

    /// Violations of the lifecycle protocol by the app, which are tolerated and counted.
    public struct Mistakes: Hashable, Sendable, Codable {
        /// Answers to a state that the app had already left.
        public var statesOutOfOrder = 0
        /// Answers to states that were never requested.
        public var unknownStates = 0
        /// Answers to events that were never sent or were already answered.
        public var unknownEvents = 0
        /// Ends of tasks that were not open.
        public var unknownTasks = 0
        /// Starts of tasks with the number of an open task.
        public var repeatedTasks = 0

        private enum CodingKeys: String, CodingKey {
            case statesOutOfOrder, unknownStates, unknownEvents, unknownTasks, repeatedTasks
        }

        /// Creates a count of zero.
        public init() {}

        /// The total count.
        public var total: Int {
            statesOutOfOrder + unknownStates + unknownEvents + unknownTasks + repeatedTasks
        }
    }

    /// The limit of moments; the latest are kept.
    static let momentLimit = 64

    /// Whether the app said that it takes part.
    public internal(set) var takesPart = false
    /// The states so far, the latest last.
    public internal(set) var moments: [Moment] = []
    /// Violations of the lifecycle protocol.
    public internal(set) var mistakes = Mistakes()
    /// The open tasks, in the order in which they began.
    public internal(set) var openTasks: [BackgroundTask] = []
    /// How many tasks have begun.
    public internal(set) var taskCount = 0
    /// Times from a request to resume to the first answer; launches do not count.
    public internal(set) var resumes = LatencyHistogram()

    private enum CodingKeys: String, CodingKey { case takesPart, moments, mistakes, openTasks, taskCount, resumes }

    mutating func enter(_ state: LifecycleState, at now: Instant) {
        guard moments.last?.state != state else { return }
        if moments.count == Self.momentLimit { moments.removeFirst() }
        moments.append(Moment(at: now, state: state))
    }
}

/// The state of an app between its launch and its end, in the terms of iOS.
public enum LifecycleState: String, Hashable, Sendable, Codable, CaseIterable {
    /// There is no process.
    case notRunning = "not-running"
    /// The process is running but not ready.
    case launching = "launching"
    /// In use.
    case foreground = "foreground"
    /// Between foreground and background: asked to move, and not there yet.
    case inactive = "inactive"
    /// Not in use; it runs for its background tasks.
    case background = "background"
    /// Frozen: it uses no CPU time, and no deadline counts.
    case suspended = "suspended"
    /// Asked to end, or ending.
    case terminating = "terminating"
}

/// Whether an app is in use.
public enum Visibility: String, Hashable, Sendable, Codable, CaseIterable {
    /// The app is serving somebody now.
    case foreground = "foreground"
    /// The app is not in use and may soon be suspended.
    case background = "background"
}
