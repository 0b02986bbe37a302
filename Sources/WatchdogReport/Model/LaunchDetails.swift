// SPDX-License-Identifier: Apache-2.0

/// A launch as far as it got, from the request to its end, as part of ``LinuxDetails``.
///
/// All times count from the moment at which watchdogd learned that the program was executed; what the kernel recorded
/// may begin shortly before. What the app marked is in its own words and its own times; watchdogd measured the rest.
public struct LaunchDetails: Codable, Equatable, Sendable {
    /// A part of the launch between two moments that watchdogd knows.
    public struct Phase: Codable, Equatable, Sendable {
        /// What the phase ends with: `exec` (the program was executed), `hello` (the app's library spoke),
        /// `first-frame` (the app showed itself), or `ready`.
        ///
        /// If the kernel recorded the start of the program, also what happens in it: `mapping`, `relocation`,
        /// `library-constructors` and `own-constructors`, in this order after `exec`.
        public var name: String
        /// When it began; negative before `execve`.
        public var startNanoseconds: Int64
        /// How long it lasted, or had lasted at the end of the launch.
        public var nanoseconds: Int64
        /// Whether the launch ended within it.
        public var isOpen: Bool
        /// How long the process's first thread was on a CPU; nil if unknown.
        public var runningNanoseconds: Int64?
        /// How long another thread had the CPU that it wanted; nil if unknown.
        public var preemptedNanoseconds: Int64?
        /// How long it was blocked, or waited for a CPU after that; nil if unknown.
        public var blockedNanoseconds: Int64?

        /// Creates a phase.
        public init(
            name: String, startNanoseconds: Int64, nanoseconds: Int64, isOpen: Bool, runningNanoseconds: Int64? = nil,
            preemptedNanoseconds: Int64? = nil, blockedNanoseconds: Int64? = nil
        ) {
            self.name = name
            self.startNanoseconds = startNanoseconds
            self.nanoseconds = nanoseconds
            self.isOpen = isOpen
            self.runningNanoseconds = runningNanoseconds
            self.preemptedNanoseconds = preemptedNanoseconds
            self.blockedNanoseconds = blockedNanoseconds
        }
    }

    /// An interval that the app marked with a signpost, or an event without a duration.
    public struct Signpost: Codable, Equatable, Sendable {
        /// The name, chosen by the app.
        public var name: String
        /// The category, chosen by the app.
        public var category: String
        /// When it began.
        public var startNanoseconds: Int64
        /// How long it lasted, or had lasted at the end of the launch; nil for an event.
        public var nanoseconds: Int64?
        /// Whether it had not ended.
        public var isOpen: Bool
        /// Whether it was set on the thread of the main loop.
        public var isOnMainThread: Bool

        /// Creates a signpost.
        public init(
            name: String, category: String = "", startNanoseconds: Int64, nanoseconds: Int64?, isOpen: Bool = false,
            isOnMainThread: Bool
        ) {
            self.name = name
            self.category = category
            self.startNanoseconds = startNanoseconds
            self.nanoseconds = nanoseconds
            self.isOpen = isOpen
            self.isOnMainThread = isOnMainThread
        }
    }

    /// A task that extends what is measured as the launch.
    public struct Task: Codable, Equatable, Sendable {
        /// The name, chosen by the app.
        public var name: String
        /// When it began.
        public var startNanoseconds: Int64
        /// How long it lasted, or had lasted when the report was taken.
        public var nanoseconds: Int64
        /// Whether it had not ended.
        public var isOpen: Bool

        /// Creates a task.
        public init(name: String, startNanoseconds: Int64, nanoseconds: Int64, isOpen: Bool) {
            self.name = name
            self.startNanoseconds = startNanoseconds
            self.nanoseconds = nanoseconds
            self.isOpen = isOpen
        }
    }

    /// Whether the app became ready.
    public var isReady: Bool
    /// From `execve` until ready, or until the launch was decided or ended otherwise.
    public var nanoseconds: Int64
    /// The phases in order of time.
    public var phases: [Phase]
    /// When the app showed its first frame.
    public var firstFrameNanoseconds: Int64?
    /// When the app said that it does what it was launched for.
    public var usefulNanoseconds: Int64?
    /// What the app marked, in order of time; the latest are left out over a limit.
    public var signposts: [Signpost]
    /// The tasks that extend the launch.
    public var tasks: [Task]
    /// Marks that were lost or left out; nil if there were none.
    public var lostMarks: Int?
    /// Why the kernel did not record the start of the program; nil if it did, or was not asked to.
    public var unrecorded: String?

    /// Creates details.
    public init(
        isReady: Bool, nanoseconds: Int64, phases: [Phase], firstFrameNanoseconds: Int64? = nil,
        usefulNanoseconds: Int64? = nil, signposts: [Signpost] = [], tasks: [Task] = [], lostMarks: Int? = nil,
        unrecorded: String? = nil
    ) {
        self.isReady = isReady
        self.nanoseconds = nanoseconds
        self.phases = phases
        self.firstFrameNanoseconds = firstFrameNanoseconds
        self.usefulNanoseconds = usefulNanoseconds
        self.signposts = signposts
        self.tasks = tasks
        self.lostMarks = lostMarks
        self.unrecorded = unrecorded
    }
}
