// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
public import WatchdogBase

/// The results of an earlier measurement, in a file beside the tests.
///
/// Counters are almost identical between runs and days, so they can fail a test. Times are not: two measurements of the
/// same program at different moments differ by more than most regressions, so their comparison is only advice.
public struct Baseline: Codable, Equatable, Sendable {
    /// The version of the file's format.
    public static let format = 1

    /// The version of this file's format.
    public var format: Int
    /// The end of the launches.
    public var until: LaunchGoal
    /// The conditions of the measurement.
    public var conditions: MeasurementConditions
    /// The median of the minor faults.
    public var minorFaults: Double
    /// The median of the bytes read from disks.
    public var readBytes: Double
    /// The median of the CPU time in nanoseconds.
    public var cpuNSec: Double
    /// The median of the wall time in nanoseconds.
    public var wallNSec: Double
    /// The median of the instructions in user mode; nil if they could not be counted.
    public var instructions: Double?
    /// The phases of recorded launches; nil if none was recorded.
    public var phases: PhaseTimes?
    /// The number of runs that count.
    public var runs: Int

    /// Creates a baseline from a measurement; nil if no run counts.
    public init?(_ measurement: Measurement) {
        guard let figures = measurement.figures(of: .new) else { return nil }
        format = Self.format
        until = measurement.until
        conditions = measurement.conditions
        minorFaults = figures.minorFaults.median
        readBytes = figures.readBytes.median
        cpuNSec = figures.cpu.median
        wallNSec = figures.wall.median
        instructions = figures.instructions?.median
        phases = measurement.phases
        runs = figures.wall.count
    }

    /// The reason why a file is not a baseline.
    public struct Unusable: Error, Equatable, Sendable, CustomStringConvertible {
        /// One sentence without a period, worded to follow the file's name.
        public let description: String
    }

    /// The maximum size of a file.
    public static let mostBytes = 1 << 20
    /// The largest accepted value: eleven days in nanoseconds, or 900 TiB; with the tolerance added, it still fits into
    /// an integer.
    private static let largestFigure = 1e15

    /// Decodes a file's contents.
    public init(decoding bytes: [UInt8]) throws(Unusable) {
        guard bytes.count <= Self.mostBytes else { throw Unusable(description: "is larger than 1 MiB: not a baseline") }
        do {
            self = try JSONDecoder().decode(Baseline.self, from: Data(bytes))
        } catch {
            throw Unusable(description: "is not a baseline; write one with --save-baseline")
        }
        guard format == Self.format else {
            throw Unusable(
                description:
                    "has format \(format), which this watchdogd cannot read; write it again with --save-baseline")
        }
        let figures =
            [minorFaults, readBytes, cpuNSec, wallNSec, instructions ?? 0] + (phases?.phases ?? []).map(\.cpuNSec)
        guard figures.allSatisfy({ (0...Self.largestFigure).contains($0) }) else {
            throw Unusable(description: "has impossible figures; write it again with --save-baseline")
        }
    }

    /// Encodes the file's contents.
    public func encoded() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(self)) + [UInt8(ascii: "\n")]
    }
}

extension Baseline {
    /// The default tolerance of counters: minor faults of one program vary by up to 0.32 % between runs, and by
    /// slightly more with the size of the environment and address randomization.
    public static let tolerance = 0.02
    /// Absolute tolerances, because small counters vary by more than the relative one.
    private static let allowance = (faults: 8.0, bytes: 256.0 * 1024)

    /// Compares a measurement with the baseline.
    ///
    /// - Parameter tolerance: 0.02 for 2 %.
    /// - Returns: the checks; a single failed one if the measurements are of different kinds.
    public func checks(_ measurement: Measurement, tolerance: Double = tolerance) -> [MeasurementCheck] {
        guard let figures = measurement.figures(of: .new) else { return [] }
        if let reason = incomparable(with: measurement) {
            return [MeasurementCheck(name: "baseline", outcome: .unclear, text: reason)]
        }
        var checks = instructionCheck(measurement, figures, tolerance)
        checks += [
            counter("minor faults", figures.minorFaults.median, minorFaults, tolerance, Self.allowance.faults) {
                FigureText.decimal($0, digits: 0)
            },
            counter("bytes read", figures.readBytes.median, readBytes, tolerance, Self.allowance.bytes) {
                FigureText.bytes(Int64($0))
            },
            time("CPU time", figures.cpu.median, cpuNSec),
            time("wall time", figures.wall.median, wallNSec),
        ]
        if let phases, let current = measurement.phases {
            let isSameCPU = measurement.conditions.cpuModel == conditions.cpuModel
            checks.append(current.check(against: phases, isSameCPU: isSameCPU))
        }
        let differences = measurement.conditions.differences(from: conditions)
        if !differences.isEmpty {
            let text = "conditions differ from the baseline's: \(differences.joined(separator: ", "))"
            checks.append(MeasurementCheck(name: "baseline conditions", outcome: .advice, text: text))
        }
        return checks
    }

    /// Of the same CPU only: libraries choose other code for another one.
    private func instructionCheck(
        _ measurement: Measurement, _ figures: MeasuredFigures, _ tolerance: Double
    ) -> [MeasurementCheck] {
        guard let instructions, let median = figures.instructions?.median,
            measurement.conditions.cpuModel == conditions.cpuModel
        else { return [] }
        return [counter("instructions", median, instructions, tolerance, 0, FigureText.count)]
    }

    private func incomparable(with measurement: Measurement) -> String? {
        if until != measurement.until {
            return "the baseline was measured until \(until.phrase), this until \(measurement.until.phrase): "
                + "use --until \(until.rawValue)"
        }
        guard conditions.isCold != measurement.conditions.isCold else { return nil }
        return conditions.isCold
            ? "the baseline is of cold runs: use --cold" : "the baseline is of warm runs: leave --cold out"
    }

    private func counter(
        _ name: String, _ value: Double, _ base: Double, _ tolerance: Double, _ allowance: Double,
        _ text: (Double) -> String
    ) -> MeasurementCheck {
        let limit = base + max(base * tolerance, allowance)
        return MeasurementCheck(
            name: "baseline \(name)", outcome: value > limit ? .failed : .passed,
            text: "\(text(value)), baseline \(text(base)), at most \(text(limit)) allowed")
    }

    private func time(_ name: String, _ value: Double, _ base: Double) -> MeasurementCheck {
        let change = base > 0 ? FigureText.change(value / base) : "unknown"
        return MeasurementCheck(
            name: "baseline \(name)", outcome: .advice,
            text: "\(FigureText.time(nanoseconds: value)), baseline \(FigureText.time(nanoseconds: base)) (\(change)); "
                + "advice only, because times from different moments are not comparable")
    }
}
