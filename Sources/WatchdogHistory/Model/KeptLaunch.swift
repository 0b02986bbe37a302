// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// One launch or resume of an app, as the history keeps it.
public struct KeptLaunch: Equatable, Sendable {
    /// What was measured.
    public enum Kind: String, Sendable, CaseIterable {
        /// A process was launched.
        case launch
        /// A suspended app was resumed.
        case resume
    }

    /// Whether the program had to be read from a disk.
    public enum Temperature: String, Sendable, CaseIterable {
        /// Something was read from a disk during the launch.
        case cold
        /// Everything was in memory.
        case warm
        /// The kernel did not say.
        case unknown
    }

    /// How the launch ended.
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
        /// The app said hello on its channel.
        case hello
        /// The app drew its first frame.
        case firstFrame = "first_frame"
        /// The app became ready, or answered after its resume.
        case ready
        /// The app became useful.
        case useful
        /// The last task that extends the launch was over, and the app was ready.
        case extended
    }

    /// Work that the app made part of its launch.
    public struct Task: Hashable, Sendable {
        /// The task's name.
        public var name: String
        /// When it began, counted from the request.
        public var begin: Duration
        /// When it ended; nil if it did not before the launch was over.
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
    /// When the launch was requested.
    public var time: WallTime
    /// What was measured.
    public var kind: Kind
    /// How it ended.
    public var outcome: Outcome
    /// Why the app was launched: `start`, `request`, `restart` or what an automatic restart followed, such as `crash`.
    public var cause: String
    /// What made the app ready, such as `notify`.
    public var source: String?
    /// Whether the program had to be read from a disk.
    public var temperature: Temperature
    /// What was launched.
    public var version: ProgramVersion
    /// The machine's name.
    public var host: String
    /// The known moments, counted from the request.
    public var moments: [Moment: Duration]
    /// The tasks that extend the launch, in the order in which they began.
    public var tasks: [Task]
    /// How long each phase took that has ended; empty if they are not known.
    public var phases: [LaunchPhaseName: Duration]
    /// The CPU time of the main process until the launch was over; nil if unknown.
    public var cpuTime: Duration?
    /// The main process's page faults that waited for a disk; nil if unknown.
    public var majorFaults: Int?
    /// What the main process had read from disks, in bytes; nil if unknown.
    public var bytesRead: Int?

    /// Whether watchdogd assumed that the app was ready, because it had said nothing.
    public var isAssumed: Bool { source == Self.assumed }
    /// The source of readiness that nothing was measured of.
    static let assumed = "assumed"

    /// How long the launch took: until the app was ready; nil if it never was, or if that was only assumed.
    public var duration: Duration? { isAssumed ? nil : moments[.ready] }

    /// Creates the record of a launch.
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

    /// Adds what became known since; nothing that is known is replaced.
    public mutating func complete(with completion: LaunchCompletion) {
        guard let exec = moments[.exec] else { return }
        for (moment, time) in completion.moments where moments[moment] == nil { moments[moment] = exec + time }
        if !completion.tasks.isEmpty { tasks = completion.tasks.map { $0.later(by: exec) } }
    }
}

extension KeptLaunch.Task {
    /// The same task, counted from an earlier moment.
    func later(by offset: Duration) -> KeptLaunch.Task {
        KeptLaunch.Task(name: name, begin: begin + offset, end: end.map { $0 + offset })
    }
}
