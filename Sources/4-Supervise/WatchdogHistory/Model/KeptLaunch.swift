// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// One launch or resume of an app, as stored in the history.
public struct KeptLaunch: Equatable, Sendable {
    /// The kind of the record.
    public enum Kind: String, Sendable, CaseIterable {
        /// A process was launched.
        case launch
        /// A suspended app was resumed.
        case resume
    }

    /// Whether the launch read from a disk.
    public enum Temperature: String, Sendable, CaseIterable {
        /// The launch read from a disk.
        case cold
        /// All pages were in memory.
        case warm
        /// The kernel did not report it.
        case unknown
    }

    /// The end of a launch.
    public enum Outcome: String, Sendable, CaseIterable {
        /// The app became ready, or answered after its resume.
        case ready
        /// The process ended before the app was ready.
        case ended
        /// The process was killed because the launch took too long.
        case killed
        /// The process could not be started.
        case failed
    }

    /// A moment within a launch.
    ///
    /// The raw value is the name of the column. A new moment needs a step in ``HistorySchema``.
    public enum Moment: String, Sendable, CaseIterable {
        /// The program was executed.
        case exec
        /// The app sent its greeting on the channel.
        case hello
        /// The app drew its first frame.
        case firstFrame = "first_frame"
        /// The app became ready, or answered after its resume.
        case ready
        /// The app reported that it does its actual work.
        case useful
        /// The last task that extends the launch had ended, and the app was ready.
        case extended
    }

    /// Work that the app made part of its launch.
    public struct Task: Hashable, Sendable {
        /// The task's name.
        public var name: String
        /// The start, relative to the request.
        public var begin: Duration
        /// The end; nil if the launch ended before.
        public var end: Duration?

        /// Creates a task.
        public init(name: String, begin: Duration, end: Duration? = nil) {
            self.name = name
            self.begin = begin
            self.end = end
        }
    }

    /// The app's name.
    public var app: String
    /// The time of the request.
    public var time: WallTime
    /// The kind of the record.
    public var kind: Kind
    /// The end of the launch.
    public var outcome: Outcome
    /// The cause: `start`, `request`, `restart`, or the reason of an automatic restart, such as `crash`.
    public var cause: String
    /// The source of readiness, such as `notify`.
    public var source: String?
    /// Whether the launch read from a disk.
    public var temperature: Temperature
    /// The version of the program.
    public var version: ProgramVersion
    /// The machine's name.
    public var host: String
    /// The known moments, relative to the request.
    public var moments: [Moment: Duration]
    /// The tasks that extend the launch, in order of their starts.
    public var tasks: [Task]
    /// The durations of the completed phases; empty if unknown.
    public var phases: [LaunchPhaseName: Duration]
    /// The CPU time of the main process until the end of the launch; nil if unknown.
    public var cpuTime: Duration?
    /// The main process's major page faults; nil if unknown.
    public var majorFaults: Int?
    /// The number of bytes that the main process read from disks; nil if unknown.
    public var bytesRead: Int?

    /// Whether watchdogd assumed that the app was ready, because it did not report readiness.
    public var isAssumed: Bool { source == Self.assumed }
    /// The source of assumed readiness, for which no time was measured.
    static let assumed = "assumed"

    /// The time until the app was ready; nil if it never was, or if that was only assumed.
    public var duration: Duration? { isAssumed ? nil : moments[.ready] }

    /// Creates the record of a launch; times are stored in microseconds.
    public init(
        app: String, time: WallTime, kind: Kind = .launch, outcome: Outcome = .ready, cause: String = "start",
        source: String? = nil, temperature: Temperature = .unknown, version: ProgramVersion = ProgramVersion(),
        host: String = "", moments: [Moment: Duration] = [:], tasks: [Task] = [],
        phases: [LaunchPhaseName: Duration] = [:], cpuTime: Duration? = nil, majorFaults: Int? = nil,
        bytesRead: Int? = nil
    ) {
        self.app = app
        self.time = time
        self.kind = kind
        self.outcome = outcome
        self.cause = cause
        self.source = source
        self.temperature = temperature
        self.version = version
        self.host = host
        self.moments = moments
        self.tasks = tasks
        self.phases = phases
        self.cpuTime = cpuTime
        self.majorFaults = majorFaults
        self.bytesRead = bytesRead
    }

    /// Adds later facts; known values are not replaced.
    public mutating func complete(with completion: LaunchCompletion) {
        guard let exec = moments[.exec] else { return }
        for (moment, time) in completion.moments where moments[moment] == nil { moments[moment] = exec + time }
        if !completion.tasks.isEmpty { tasks = completion.tasks.map { $0.later(by: exec) } }
    }
}

extension KeptLaunch.Task {
    /// The same task, relative to a moment that is earlier by `offset`.
    func later(by offset: Duration) -> KeptLaunch.Task {
        KeptLaunch.Task(name: name, begin: begin + offset, end: end.map { $0 + offset })
    }
}
