// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogLinux
import WatchdogMeasurement

/// What to measure, and how.
public struct MeasurementPlan: Sendable {
    /// The program and its arguments; `{data}` stands for the copy of ``data``.
    public var command: [String]
    /// The program to compare with, and its arguments; nil for none.
    public var oldCommand: [String]?
    /// How many runs, or pairs of runs, count.
    public var runs: Int
    /// How many runs, or pairs, are thrown away first.
    public var discard: Int
    /// What ends a launch; nil to find out by a first launch.
    public var until: LaunchGoal?
    /// How long one launch, and its end, may take.
    public var timeLimit: Duration
    /// Whether the program's files are evicted from memory before each run.
    public var isCold: Bool
    /// Further files and folders to evict.
    public var evicted: [String]
    /// Whether the program's output and errors are shown; otherwise they are discarded.
    public var showsOutput: Bool
    /// Whether an exit code other than 0, or a signal, is accepted as an end.
    public var ignoresFailure: Bool
    /// Whether the program has the machine's network; otherwise only a loopback device of its own.
    public var hasNetwork: Bool
    /// The share of one CPU that the program gets; nil for no limit.
    public var cpuQuota: Double?
    /// A folder that each run gets a fresh copy of.
    public var data: String?
    /// The environment of the program.
    public var environment: Environment
    /// watchdogd's version, for the result.
    public var version: String

    /// Creates a plan.
    public init(
        command: [String], oldCommand: [String]? = nil, runs: Int, discard: Int = 1, until: LaunchGoal? = nil,
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
