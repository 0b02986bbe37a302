// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import WatchdogBase

/// The JSON object of `--json`; `docs/measurement-schema.json` describes it.
public struct MeasurementJSON: Codable, Equatable, Sendable {
    /// The version of the format.
    public static let format = 1

    let format: Int
    let command: [String]
    let oldCommand: [String]?
    let until: LaunchGoal
    let isUntilChosen: Bool
    let resolutionNSec: Int64?
    let conditions: MeasurementConditions
    let noise: MachineNoise?
    let evictedBytes: Int64?
    let runs: [MeasuredRun]
    let excluded: [Excluded]
    let new: MeasuredFigures?
    let old: MeasuredFigures?
    let cpuRatio: PairedRatio?
    let wallRatio: PairedRatio?
    let instructionRatio: PairedRatio?
    let phases: [PhaseTimes.Phase]?
    let elapsedNSec: Int64?
    let limitNSec: Int64?
    let checks: [MeasurementCheck]
    let exitCode: Int32

    struct Excluded: Codable, Equatable {
        let program: MeasuredProgram
        let number: Int
        let reason: String
    }

    /// Creates the object from a measurement and its checks.
    public init(_ measurement: Measurement, checks: [MeasurementCheck]) {
        format = Self.format
        command = measurement.command
        oldCommand = measurement.oldCommand
        until = measurement.until
        isUntilChosen = measurement.isUntilChosen
        resolutionNSec = measurement.resolution?.nanoseconds
        conditions = measurement.conditions
        noise = measurement.noise
        evictedBytes = measurement.evictedBytes
        runs = measurement.runs
        excluded = measurement.runs.compactMap { run in
            run.exclusion(isCold: measurement.conditions.isCold).map {
                Excluded(program: run.program, number: run.number, reason: $0.description)
            }
        }
        new = measurement.figures(of: .new)
        old = measurement.figures(of: .old)
        cpuRatio = measurement.cpuRatio
        wallRatio = measurement.wallRatio
        instructionRatio = measurement.instructionRatio
        phases = measurement.phases?.phases
        elapsedNSec = measurement.sequence?.elapsed.nanoseconds
        limitNSec = measurement.sequence?.limit.nanoseconds
        self.checks = checks
        exitCode = MeasurementCheck.exitCode(checks)
    }

    /// The JSON text, which ends with a newline.
    public func encoded() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(self)) + [UInt8(ascii: "\n")]
    }
}
