// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// A measurement for people, in lines of a given width.
public struct MeasurementText {
    private let measurement: Measurement
    private let checks: [MeasurementCheck]
    private let width: Int

    /// The minimum width; lines are never cut shorter.
    private static let narrowest = 60
    private static let columns = 42

    /// Prepares the text.
    ///
    /// - Parameter width: The maximum number of columns for lines of figures.
    public init(_ measurement: Measurement, checks: [MeasurementCheck], width: Int) {
        self.measurement = measurement
        self.checks = checks
        self.width = max(width, Self.narrowest)
    }

    /// The text, which ends with a newline.
    public var text: String {
        (header + [""] + runs + [""] + summaries + notes + checkLines).joined(separator: "\n") + "\n"
    }

    // MARK: Header

    private var header: [String] {
        var lines = wrapped(name(measurement.command), indent: "")
        if let old = measurement.oldCommand { lines += wrapped("against \(name(old))", indent: "") }
        let discarded = Set(measurement.runs.filter(\.isDiscarded).map(\.number)).count
        let numbers = Set(measurement.runs.filter { !$0.isDiscarded }.map(\.number)).count
        let unit = measurement.oldCommand == nil ? "run" : "pair"
        var what = "\(numbers) \(unit)\(numbers == 1 ? "" : "s") until \(measurement.until.phrase)"
        if measurement.isUntilChosen { what += " (what the first launch did)" }
        if let resolution = measurement.resolution {
            what += ", sampled every \(TimeSpan.text(resolution)) or 1 %"
        }
        if discarded > 0 { what += ", after \(discarded) discarded" }
        lines += wrapped(what + (measurement.conditions.isCold ? "; cold" : "; warm"), indent: "")
        if let quota = measurement.conditions.cpuQuotaPercent {
            lines.append("at most \(FigureText.decimal(quota, digits: 0)) % of one CPU")
        }
        if !measurement.conditions.hasNetwork { lines.append("without a network") }
        return lines
    }

    private func name(_ command: [String]) -> String {
        command.map { word in
            let isPlain = !word.isEmpty && !word.contains { " \t\n'\"\\".contains($0) }
            return (isPlain ? word : "'\(word)'").singleLine(limit: 200)
        }.joined(separator: " ")
    }

    // MARK: Runs

    private var runs: [String] {
        let longest = measurement.runs.map(\.wall).max() ?? .zero
        let heading =
            "  " + "run".alignedRight(6) + "wall".alignedRight(11) + "CPU".alignedRight(11) + "faults".alignedRight(10)
        return [heading] + measurement.runs.map { line(of: $0, longest: longest) }
    }

    private func line(of run: MeasuredRun, longest: Duration) -> String {
        let isPair = measurement.oldCommand != nil
        let number = (run.isDiscarded ? "-" : "\(run.number)") + (isPair ? (run.program == .old ? " old" : " new") : "")
        let figures =
            "  " + number.alignedRight(6) + FigureText.time(run.wall).alignedRight(11)
            + FigureText.time(run.cpu).alignedRight(11) + "\(run.minorFaults)".alignedRight(10) + "  "
        if let exclusion = run.exclusion(isCold: measurement.conditions.isCold) {
            return figures + exclusion.description
        }
        return figures + bar(run.wall, of: longest)
    }

    /// A bar in eighths of a column.
    private func bar(_ time: Duration, of longest: Duration) -> String {
        guard longest > .zero else { return "" }
        let room = min(width - Self.columns, 80)
        let eighths = max(Int((time / longest * Double(room * 8)).rounded()), 1)
        let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8]
        return String(repeating: "█", count: eighths / 8) + rest
    }

    // MARK: Summaries

    private var summaries: [String] {
        MeasuredProgram.allCases.reversed().flatMap { program -> [String] in
            guard let figures = measurement.figures(of: program) else { return [] }
            let title = measurement.oldCommand == nil ? "" : "\(program.rawValue) "
            let heading =
                title.alignedLeft(14) + ["median", "MAD", "min", "p90"].map { $0.alignedRight(11) }.joined()
            return [heading] + [
                row("wall time", figures.wall) { FigureText.time(nanoseconds: $0) },
                row("CPU time", figures.cpu) { FigureText.time(nanoseconds: $0) },
            ] + [figures.instructions.map { row("instructions", $0, FigureText.count) }].compactMap(\.self) + [
                row("minor faults", figures.minorFaults) { FigureText.decimal($0, digits: 0) }
            ] + (figures.readBytes.ninetiethPercentile > 0 ? coldRows(figures) : [])
        }
    }

    private func coldRows(_ figures: MeasuredFigures) -> [String] {
        [
            row("major faults", figures.majorFaults) { FigureText.decimal($0, digits: 0) },
            row("bytes read", figures.readBytes) { FigureText.bytes(Int64($0)) },
        ]
    }

    private func row(_ name: String, _ summary: SampleSummary, _ text: (Double) -> String) -> String {
        let values = [
            summary.median, summary.medianAbsoluteDeviation, summary.minimum, summary.ninetiethPercentile,
        ]
        return name.alignedLeft(14) + values.map { text($0).alignedRight(11) }.joined()
    }

    // MARK: Notes and checks

    private var notes: [String] {
        var notes: [String] = []
        if let evicted = measurement.evictedBytes {
            let resident = measurement.runs.compactMap(\.residentBytes).max()
            let rest = resident.map { "at most \(FigureText.bytes($0)) stayed in memory" }
            notes.append(
                "before each run, \(FigureText.bytes(evicted)) of files were evicted; "
                    + (rest ?? "how much stayed in memory is unknown, because the files belong to somebody else"))
        }
        let excluded = measurement.runs.filter {
            !$0.isDiscarded && $0.exclusion(isCold: measurement.conditions.isCold) != nil
        }
        if !excluded.isEmpty {
            notes.append("\(excluded.count) of \(measurement.runs.filter { !$0.isDiscarded }.count) runs were excluded")
        }
        if let work = measurement.instructionRatio {
            notes.append("instructions new/old \(FactorText.factor(work.ratio)), p \(FigureText.probability(work.p))")
        }
        if let wall = measurement.wallRatio {
            notes.append(
                "wall time new/old \(FactorText.factor(wall.ratio)), p \(FigureText.probability(wall.p)); not judged, because "
                    + "it depends on what else the machine does: --against judges CPU time, --max the wall time of one program"
            )
        }
        notes += measurement.noise?.sentences ?? []
        return notes.isEmpty ? [] : [""] + notes.flatMap { wrapped($0, indent: "") }
    }

    private var checkLines: [String] {
        guard !checks.isEmpty else { return [] }
        return [""]
            + checks.flatMap { check in
                let word =
                    switch check.outcome {
                    case .passed: "ok"
                    case .failed: "FAILED"
                    case .unclear: "unclear"
                    case .advice: "note"
                    }
                return wrapped("\(word.alignedLeft(8))\(check.name): \(check.text)", indent: "        ")
            }
    }

    private func wrapped(_ text: String, indent: String) -> [String] {
        // No line begins with a unit.
        text.singleLine().replacing(" %", with: "\u{a0}%").wrapped(columns: width, indent: indent)
            .map { $0.replacing("\u{a0}%", with: " %") }
    }
}

/// The checks of a measurement as a JUnit test suite, which CI services show.
public enum JUnitText {
    /// The XML text; a measurement without checks is one test that passed.
    ///
    /// An unclear check is an error, a failed one a failure, and advice goes to the suite's output.
    public static func xml(_ measurement: Measurement, checks: [MeasurementCheck]) -> String {
        let cases = checks.compactMap { check -> TestSuite.Case? in
            switch check.outcome {
            case .passed: TestSuite.Case(check.name, .passed)
            case .failed: TestSuite.Case(check.name, .failed(check.text, details: ""))
            case .unclear: TestSuite.Case(check.name, .unclear(check.text))
            case .advice: nil
            }
        }
        return TestSuite(
            name: "watchdogd measure \(measurement.command.joined(separator: " "))",
            cases: cases.isEmpty ? [TestSuite.Case("measured", .passed)] : cases,
            duration: measurement.runs.reduce(.zero) { $0 + $1.wall },
            output: MeasurementText(measurement, checks: checks, width: 100).text
        ).junit
    }
}
