// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// One check of a measurement, and its result.
public struct MeasurementCheck: Codable, Equatable, Sendable {
    /// The result of a check.
    public enum Outcome: String, Codable, Sendable, CaseIterable {
        /// The condition holds.
        case passed
        /// The condition does not hold.
        case failed
        /// The data is insufficient.
        case unclear
        /// Information only, which does not fail the measurement.
        case advice
    }

    /// The name of the check: `max`, `against`, `baseline minor faults`.
    public let name: String
    /// The result.
    public let outcome: Outcome
    /// One sentence with the figures, without a period.
    public let text: String

    /// Creates a check.
    public init(name: String, outcome: Outcome, text: String) {
        self.name = name
        self.outcome = outcome
        self.text = text
    }

    /// The exit code for all checks together: 1 if one failed, else 2 if one is unclear, else 0.
    public static func exitCode(_ checks: [MeasurementCheck]) -> Int32 {
        if checks.contains(where: { $0.outcome == .failed }) { return 1 }
        return checks.contains { $0.outcome == .unclear } ? 2 : 0
    }

    /// `--max`: the median of the wall time must not exceed a limit.
    public static func maximum(_ limit: Duration, wall: SampleSummary) -> MeasurementCheck {
        let median = Duration.nanoseconds(Int64(wall.median.rounded()))
        let figures = "the median is \(FigureText.time(median)), at most \(TimeSpan.text(limit)) is allowed"
        return MeasurementCheck(name: "max", outcome: median > limit ? .failed : .passed, text: figures)
    }

    /// `--against`: the new program must not be slower than the old one by more than a threshold.
    ///
    /// - Parameters:
    ///   - threshold: 0.03 for 3 %.
    ///   - sequence: The time of a comparison that ends when its answer is clear; nil for a fixed number of pairs.
    public static func against(
        _ cpu: PairedRatio, threshold: Double, sequence: ComparisonTime? = nil
    ) -> MeasurementCheck {
        let verdict =
            sequence == nil
            ? cpu.verdict(threshold: threshold) : StoppingRule.verdict(cpu, threshold: threshold)
        let interval = cpu.lower.flatMap { lower in
            cpu.upper.map { "95 % interval \(FactorText.factor(lower)) to \(FactorText.factor($0))" }
        }
        let figures =
            "CPU time new/old \(FactorText.factor(cpu.ratio)) (\(interval ?? "too few pairs for an interval"), "
            + "p \(FigureText.probability(cpu.p)), \(cpu.pairs) pairs)"
        let limit = FactorText.percent(threshold)
        switch verdict {
        case .regression:
            return MeasurementCheck(
                name: "against", outcome: .failed, text: "\(figures): slower by more than \(limit)")
        case .noRegression:
            return MeasurementCheck(
                name: "against", outcome: .passed, text: "\(figures): not slower by more than \(limit)")
        case .unclear:
            return MeasurementCheck(
                name: "against", outcome: .unclear,
                text: "\(figures): \(undecided(cpu, limit: limit, threshold, sequence))")
        }
    }

    /// What remains possible, and what would decide it.
    private static func undecided(
        _ cpu: PairedRatio, limit: String, _ threshold: Double, _ sequence: ComparisonTime?
    ) -> String {
        let range =
            cpu.upper.map { "not decided: it may be slower by up to \(FactorText.percent(max($0 - 1, 0)))" }
            ?? "not decided: too few pairs"
        guard let pairs = StoppingRule.pairsNeeded(cpu, threshold: threshold) else {
            return "\(range); use more pairs (--runs) or a quieter machine"
        }
        guard let sequence, cpu.pairs > 0 else {
            return "\(range); to tell \(limit), use about \(pairs) pairs (--runs) or a quieter machine"
        }
        guard pairs <= StoppingRule.mostPairs else { return "\(range); to tell \(limit), use a quieter machine" }
        let seconds = sequence.elapsed / .seconds(1) * Double(pairs) / Double(cpu.pairs)
        return "\(range); to tell \(limit), about \(pairs) pairs are needed: "
            + "use --within \(Int64(seconds.rounded(.up)))s or a quieter machine"
    }

    /// The result if no run counts.
    public static func nothingCounts(isCold: Bool) -> MeasurementCheck {
        MeasurementCheck(
            name: "runs", outcome: .unclear,
            text: isCold
                ? "no run was cold: the program's files stay in memory; name those that it reads with --evict"
                : "no run was warm: each read from a disk; use --discard to discard more runs, or measure with --cold"
        )
    }
}

/// Ratios as text.
enum FactorText {
    /// `1.102`.
    static func factor(_ ratio: Double) -> String { FigureText.decimal(ratio, digits: 3) }

    /// `3 %`, `2.5 %`.
    static func percent(_ share: Double) -> String {
        let tenths = Int((share * 1000).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10) %" : FigureText.decimal(share * 100, digits: 1) + " %"
    }
}
