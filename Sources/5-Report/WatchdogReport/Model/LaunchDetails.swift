// SPDX-License-Identifier: Apache-2.0

/// A launch from the request to its end or to the report, as part of ``LinuxDetails``.
///
/// All times are relative to the moment at which watchdogd noticed the execution of the program; the kernel's own
/// records may begin shortly before. The app chose the names and times of its marks; watchdogd measured everything
/// else.
public struct LaunchDetails: Codable, Equatable, Sendable {
    /// What blocked the process's first thread in most samples of a phase.
    public struct Wait: Codable, Equatable, Sendable {
        /// The system call.
        public var call: String
        /// The app's own function that led to the call, with its file and line; nil if unknown.
        public var caller: String?
        /// The number of samples that showed the call.
        public var samples: Int
        /// The number of samples of the phase.
        public var ofSamples: Int

        /// Creates a wait.
        public init(call: String, caller: String?, samples: Int, ofSamples: Int) {
            self.call = call
            self.caller = caller
            self.samples = samples
            self.ofSamples = ofSamples
        }
    }

    /// A part of the launch between two known moments.
    public struct Phase: Codable, Equatable, Sendable {
        /// The moment at the end of the phase: `exec` (the program was executed), `hello` (the app's library sent its
        /// greeting), `first-frame` (the app drew its first frame), or `ready`.
        ///
        /// If the kernel recorded the start of the program, also its activities: `mapping`, `relocation`,
        /// `library-constructors` and `own-constructors`, in this order after `exec`.
        public var name: String
        /// The start of the phase; negative before `execve`.
        public var startNanoseconds: Int64
        /// The duration of the phase, up to the end of the launch if it is open.
        public var nanoseconds: Int64
        /// Whether the launch ended in this phase.
        public var isOpen: Bool
        /// The time for which the process's first thread ran on a CPU; nil if unknown.
        public var runningNanoseconds: Int64?
        /// The time for which it was preempted; nil if unknown.
        public var preemptedNanoseconds: Int64?
        /// The time for which it was blocked, or waited for a CPU after that; nil if unknown.
        public var blockedNanoseconds: Int64?
        /// What the first thread did when the launch ended in this phase: the verdict's words, and the app's own
        /// function; nil for a phase that has ended, or if unknown.
        public var ending: String?
        /// What blocked the first thread in a phase that has ended; nil if nothing did for long, or if unknown.
        public var wait: Wait?

        /// Creates a phase.
        public init(
            name: String, startNanoseconds: Int64, nanoseconds: Int64, isOpen: Bool, runningNanoseconds: Int64? = nil,
            preemptedNanoseconds: Int64? = nil, blockedNanoseconds: Int64? = nil, ending: String? = nil,
            wait: Wait? = nil
        ) {
            self.name = name
            self.startNanoseconds = startNanoseconds
            self.nanoseconds = nanoseconds
            self.isOpen = isOpen
            self.runningNanoseconds = runningNanoseconds
            self.preemptedNanoseconds = preemptedNanoseconds
            self.blockedNanoseconds = blockedNanoseconds
            self.ending = ending
            self.wait = wait
        }
    }

    /// An interval that the app marked with a signpost, or an event without a duration.
    public struct Signpost: Codable, Equatable, Sendable {
        /// The name, chosen by the app.
        public var name: String
        /// The category, chosen by the app.
        public var category: String
        /// The start.
        public var startNanoseconds: Int64
        /// The duration, up to the end of the launch if it is open; nil for an event.
        public var nanoseconds: Int64?
        /// Whether the interval had not ended.
        public var isOpen: Bool
        /// Whether the mark was set on the thread of the main loop.
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

    /// A task that extends the measured launch.
    public struct Task: Codable, Equatable, Sendable {
        /// The name, chosen by the app.
        public var name: String
        /// The start.
        public var startNanoseconds: Int64
        /// The duration, up to the report if it is open.
        public var nanoseconds: Int64
        /// Whether the task had not ended.
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
    /// The time from `execve` until ready, or until another end of the launch.
    public var nanoseconds: Int64
    /// The phases in order of time.
    public var phases: [Phase]
    /// The time of the first frame.
    public var firstFrameNanoseconds: Int64?
    /// The time at which the app reported that it does its actual work.
    public var usefulNanoseconds: Int64?
    /// The app's marks, in order of time; beyond a limit, the latest are dropped.
    public var signposts: [Signpost]
    /// The tasks that extend the launch.
    public var tasks: [Task]
    /// The event that the app was launched for, and what became of it, in one line; nil for other launches.
    public var event: String?
    /// The number of lost or dropped marks; nil if zero.
    public var lostMarks: Int?
    /// The reason why the kernel did not record the start of the program; nil if it did, or if that was off.
    public var unrecorded: String?

    /// Creates details.
    public init(
        isReady: Bool, nanoseconds: Int64, phases: [Phase], firstFrameNanoseconds: Int64? = nil,
        usefulNanoseconds: Int64? = nil, signposts: [Signpost] = [], tasks: [Task] = [], event: String? = nil,
        lostMarks: Int? = nil, unrecorded: String? = nil
    ) {
        self.isReady = isReady
        self.nanoseconds = nanoseconds
        self.phases = phases
        self.firstFrameNanoseconds = firstFrameNanoseconds
        self.usefulNanoseconds = usefulNanoseconds
        self.signposts = signposts
        self.tasks = tasks
        self.event = event
        self.lostMarks = lostMarks
        self.unrecorded = unrecorded
    }
}
