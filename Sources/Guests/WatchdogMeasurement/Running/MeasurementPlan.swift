// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogLinux

/// The parameters of a measurement.
public struct MeasurementPlan: Sendable {
    /// The program and its arguments; `{data}` stands for the copy of ``data``.
    public var command: [String]
    /// The program for the comparison, and its arguments; nil for none.
    public var oldCommand: [String]?
    /// The number of runs, or pairs of runs, that count.
    public var runs: RunCount
    /// The number of runs, or pairs, to discard at the beginning.
    public var discard: Int
    /// The end of a launch; nil to choose it by a first launch.
    public var until: LaunchGoal?
    /// The time limit of one launch, and of its termination.
    public var timeLimit: Duration
    /// Whether the program's files are evicted from memory before each run.
    public var isCold: Bool
    /// Additional files and folders to evict.
    public var evicted: [String]
    /// Whether the program's output and errors are shown; otherwise they are discarded.
    public var showsOutput: Bool
    /// Whether an exit code other than 0, or a signal, is accepted as an end.
    public var ignoresFailure: Bool
    /// Whether the program has the machine's network; otherwise only its own loopback device.
    public var hasNetwork: Bool
    /// The share of one CPU that the program gets; nil for no limit.
    public var cpuQuota: Double?
    /// A folder of which each run gets a fresh copy.
    public var data: String?
    /// The environment of the program.
    public var environment: Environment
    /// watchdogd's version, for the result.
    public var version: String

    /// Creates a plan.
    public init(
        command: [String], oldCommand: [String]? = nil, runs: RunCount, discard: Int = 1, until: LaunchGoal? = nil,
        timeLimit: Duration = .seconds(60), isCold: Bool = false, evicted: [String] = [], showsOutput: Bool = false,
        ignoresFailure: Bool = false, hasNetwork: Bool = true, cpuQuota: Double? = nil, data: String? = nil,
        environment: Environment, version: String
    ) {
        self.command = command
        self.oldCommand = oldCommand
        self.runs = runs
        self.discard = discard
        self.until = until
        self.timeLimit = timeLimit
        self.isCold = isCold
        self.evicted = evicted
        self.showsOutput = showsOutput
        self.ignoresFailure = ignoresFailure
        self.hasNetwork = hasNetwork
        self.cpuQuota = cpuQuota
        self.data = data
        self.environment = environment
        self.version = version
    }
}

/// How many runs, or pairs of runs, a measurement makes.
public enum RunCount: Equatable, Sendable {
    /// A number that is known in advance.
    case exactly(Int)
    /// As many pairs as ``StoppingRule`` needs to tell whether the new program is slower by more than the threshold.
    ///
    /// - Parameters:
    ///   - threshold: 0.03 for 3 %.
    ///   - limit: The time after which it stops in any case.
    case untilDecided(threshold: Double, limit: Duration)
}
