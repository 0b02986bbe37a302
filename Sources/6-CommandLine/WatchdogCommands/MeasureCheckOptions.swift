// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogLinux
import WatchdogMeasurement

/// What `watchdogd measure` checks its figures for.
struct MeasureCheckOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Compare with this program in paired runs: a name, run with the program's arguments, or a quoted command.",
            valueName: "old"),
        completion: .file())
    var against: String?

    @Option(
        help: ArgumentHelp("Slowdown to tolerate relative to --against (default: 3%).", valueName: "percent"),
        transform: MeasureCheckOptions.share)
    var threshold = 0.03

    @Option(
        help: ArgumentHelp("Fail if the median wall time is longer.", valueName: "span"),
        transform: RunOptions.span)
    var max: Duration?

    @Option(
        help: ArgumentHelp(
            "Compare with the figures in this file; only counters can fail the check.", valueName: "file"),
        completion: .file())
    var baseline: String?

    @Option(
        help: ArgumentHelp("Increase in counters to tolerate over the baseline (default: 2%).", valueName: "percent"),
        transform: MeasureCheckOptions.share)
    var tolerance = Baseline.tolerance

    @Option(
        help: ArgumentHelp("Write the figures to this file, for --baseline.", valueName: "file"), completion: .file())
    var saveBaseline: String?

    /// Checks the options together.
    func validateFiles() throws {
        for (option, value) in [("against", against), ("baseline", baseline), ("save-baseline", saveBaseline)]
        where value == "" {
            throw ValidationError("--\(option) is empty; give it a value or leave it out")
        }
        guard baseline == nil || saveBaseline == nil else {
            throw ValidationError("--baseline and --save-baseline cannot be combined")
        }
        if let against {
            let words: [String]
            do {
                words = try CommandWords.split(against)
            } catch {
                throw ValidationError("--against: \(error)")
            }
            guard words.first?.isEmpty == false else {
                throw ValidationError("--against is empty; write a name or a quoted command")
            }
        }
    }

    /// The command line of the old program.
    func oldCommand(for command: [String]) throws -> [String]? {
        guard let against else { return nil }
        let words = try CommandWords.split(against)
        return words.count == 1 ? words + command.dropFirst() : words
    }

    // MARK: Files

    func readBaseline() throws -> Baseline? {
        guard let baseline else { return nil }
        let bytes: [UInt8]
        do throws(LinuxError) {
            bytes = try OwnedDescriptor.regularFile(at: ByteString(baseline)).contents(limit: Baseline.mostBytes + 1)
        } catch {
            let advice = error.errno == .noSuchFile ? "; write it with --save-baseline" : ""
            throw MeasuringError("--baseline: \(error)\(advice)", exitCode: 66)
        }
        do {
            return try Baseline(decoding: bytes)
        } catch {
            throw MeasuringError("--baseline: \(baseline) \(error)", exitCode: 65)
        }
    }

    /// Fails before the measurement rather than after it.
    func checkOutputs(_ paths: [String?]) throws {
        for path in paths.compactMap(\.self) {
            do throws(LinuxError) { try AtomicFile.check(path) } catch {
                throw MeasuringError("\(error)", exitCode: 73)
            }
        }
    }

    func save(_ measurement: Measurement) throws {
        guard let saveBaseline else { return }
        guard let figures = Baseline(measurement) else {
            throw MeasuringError("--save-baseline: no run counts, so \(saveBaseline) was not written", exitCode: 2)
        }
        try Self.write(try figures.encoded(), to: saveBaseline, "--save-baseline")
    }

    static func write(_ bytes: [UInt8], to path: String, _ option: String) throws {
        do throws(LinuxError) {
            try AtomicFile.write(bytes, to: path)
        } catch {
            throw MeasuringError("\(option): \(error)", exitCode: 73)
        }
    }

    func questions(_ baseline: Baseline?) -> MeasurementChecks {
        MeasurementChecks(maximum: max, threshold: threshold, baseline: baseline, tolerance: tolerance)
    }

    private static func share(_ text: String) throws -> Double {
        guard text.hasSuffix("%"), let share = MeasureConditionOptions.percent(text), (0.001...10).contains(share)
        else {
            throw ValidationError("\"\(text)\" is not a percentage; write for example 3%")
        }
        return share
    }
}
