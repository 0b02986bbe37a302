// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// All runs of a measurement, and its conditions.
public struct Measurement: Equatable, Sendable {
    /// The command line of the program.
    public var command: [String]
    /// The command line of the program for the comparison; nil without one.
    public var oldCommand: [String]?
    /// The end of the launches.
    public var until: LaunchGoal
    /// Whether ``until`` was chosen from the program's behavior, and not given.
    public var isUntilChosen: Bool
    /// The polling interval for the end of a launch; nil for an end that the kernel announces.
    public var resolution: Duration?
    /// The runs in chronological order.
    public var runs: [MeasuredRun]
    /// The conditions.
    public var conditions: MeasurementConditions
    /// The other load of the machine; nil if unknown.
    public var noise: MachineNoise?
    /// The number of bytes of the program's files that were evicted before each cold run; nil for warm runs.
    public var evictedBytes: Int64?
    /// The time for which the comparison has run; nil if its number of pairs was fixed.
    public var sequence: ComparisonTime?
    /// The phases of launches that were recorded afterwards; nil for none.
    public var phases: PhaseTimes?

    /// Creates a measurement.
    public init(
        command: [String], oldCommand: [String]? = nil, until: LaunchGoal, isUntilChosen: Bool = false,
        resolution: Duration? = nil, runs: [MeasuredRun], conditions: MeasurementConditions,
        noise: MachineNoise? = nil, evictedBytes: Int64? = nil, sequence: ComparisonTime? = nil
    ) {
        self.command = command
        self.oldCommand = oldCommand
        self.until = until
        self.isUntilChosen = isUntilChosen
        self.resolution = resolution
        self.runs = runs
        self.conditions = conditions
        self.noise = noise
        self.evictedBytes = evictedBytes
        self.sequence = sequence
    }

    /// Adds the next run.
    ///
    /// - Parameter next: The run, and the size of the files that were evicted before it.
    public mutating func add(_ next: (run: MeasuredRun, evicted: Int64?)) {
        runs.append(next.run)
        evictedBytes = next.evicted.map { max($0, evictedBytes ?? 0) } ?? evictedBytes
    }

    /// The number of additional runs, or pairs, needed to replace those that do not count.
    ///
    /// At most `wanted`, and 0 if no run counts, because the next ones are then unlikely to count, either.
    ///
    /// - Parameter wanted: The number that should count.
    public func missing(of wanted: Int) -> Int {
        let counted = oldCommand == nil ? counted(.new).count : pairs.count
        let made = Set(runs.filter { !$0.isDiscarded }.map(\.number)).count
        return counted == 0 ? 0 : max(min(wanted - counted, 2 * wanted - made), 0)
    }

    /// The runs of a program that count.
    public func counted(_ program: MeasuredProgram) -> [MeasuredRun] {
        runs.filter { $0.program == program && $0.exclusion(isCold: conditions.isCold) == nil }
    }

    /// The summaries of a program's runs; nil if none counts.
    public func figures(of program: MeasuredProgram) -> MeasuredFigures? { MeasuredFigures(counted(program)) }

    /// The pairs in which both runs count, in order.
    public var pairs: [(old: MeasuredRun, new: MeasuredRun)] {
        let old = Dictionary(counted(.old).map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
        return counted(.new).sorted { $0.number < $1.number }.compactMap { run in
            old[run.number].map { (old: $0, new: run) }
        }
    }

    /// The ratio of the CPU times, new to old; nil without a second program.
    public var cpuRatio: PairedRatio? { ratio { $0.cpu } }

    /// The ratio of the wall times; nil without a second program.
    public var wallRatio: PairedRatio? { ratio { $0.wall } }

    /// The ratio of the instructions, new to old; nil without a second program, and where they cannot be counted.
    public var instructionRatio: PairedRatio? {
        let counted = pairs.compactMap { pair -> (old: Double, new: Double)? in
            guard let old = pair.old.instructions, let new = pair.new.instructions else { return nil }
            return (Double(old), Double(new))
        }
        return counted.isEmpty ? nil : PairedRatio(counted)
    }

    private func ratio(_ time: (MeasuredRun) -> Duration) -> PairedRatio? {
        guard oldCommand != nil else { return nil }
        return PairedRatio(pairs.map { (Double(time($0.old).nanoseconds), Double(time($0.new).nanoseconds)) })
    }
}

/// The time of a comparison that ends when its answer is clear.
public struct ComparisonTime: Equatable, Sendable {
    /// The time that it took.
    public var elapsed: Duration
    /// The time limit.
    public var limit: Duration

    /// Creates a value.
    public init(elapsed: Duration, limit: Duration) {
        self.elapsed = elapsed
        self.limit = limit
    }
}

/// The summaries of runs; times are in nanoseconds.
public struct MeasuredFigures: Codable, Equatable, Sendable {
    /// The time from the request to the end of the launch.
    public let wall: SampleSummary
    /// The CPU time.
    public let cpu: SampleSummary
    /// Instructions in user mode; nil unless they are known of all runs.
    public let instructions: SampleSummary?
    /// Page faults without I/O.
    public let minorFaults: SampleSummary
    /// Page faults with I/O.
    public let majorFaults: SampleSummary
    /// Bytes read from disks.
    public let readBytes: SampleSummary

    /// Summarizes runs; nil if there are none.
    public init?(_ runs: [MeasuredRun]) {
        guard let wall = SampleSummary(runs.map { Double($0.wall.nanoseconds) }),
            let cpu = SampleSummary(runs.map { Double($0.cpu.nanoseconds) }),
            let minor = SampleSummary(runs.map { Double($0.minorFaults) }),
            let major = SampleSummary(runs.map { Double($0.majorFaults) }),
            let read = SampleSummary(runs.map { Double($0.readBytes) })
        else { return nil }
        (self.wall, self.cpu, minorFaults, majorFaults, readBytes) = (wall, cpu, minor, major, read)
        let instructions = runs.compactMap(\.instructions)
        self.instructions = instructions.count == runs.count ? SampleSummary(instructions.map(Double.init)) : nil
    }
}

/// Robust statistics of a set of values.
public struct SampleSummary: Codable, Equatable, Sendable {
    /// The number of values.
    public let count: Int
    /// The middle value, or the mean of the two middle ones.
    public let median: Double
    /// The median of the distances from the median.
    public let medianAbsoluteDeviation: Double
    /// The smallest value.
    public let minimum: Double
    /// The smallest value that at least 90 % of the values do not exceed.
    public let ninetiethPercentile: Double

    /// Summarizes values; nil without any.
    public init?(_ figures: some Sequence<Double>) {
        let sorted = figures.sorted()
        guard let first = sorted.first, let median = sorted.median else { return nil }
        count = sorted.count
        self.median = median
        medianAbsoluteDeviation = sorted.map { abs($0 - median) }.median ?? 0
        minimum = first
        ninetiethPercentile = sorted[(sorted.count * 9 + 9) / 10 - 1]
    }
}
