// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// The results as a table for a terminal.
public struct ConformanceText {
    private let width: Int

    /// Creates a table whose lines have at most this many columns.
    public init(width: Int) { self.width = width }

    /// One result: a mark, the requirement and the finding, folded to the width.
    ///
    /// - Parameter previous: the result above; the same reason is not printed twice in a row.
    public func line(_ result: ConformanceResult, after previous: ConformanceResult? = nil) -> String {
        let (mark, remark) =
            switch result.outcome {
            case .passed(let text): ("ok  ", text.singleLine())
            case .failed(let text): ("FAIL", text.singleLine())
            case .skipped(let text): ("-   ", text.singleLine())
            }
        let required = result.requirement.text
        guard !remark.isEmpty, result.outcome != previous?.outcome else { return "\(mark)  \(required)\n" }
        if case .passed = result.outcome, mark.count + required.count + remark.count + 6 <= width {
            return "\(mark)  \(required)  (\(remark))\n"
        }
        return "\(mark)  \(required)\n" + remark.wrapped(columns: width - 6).map { "      \($0)\n" }.joined()
    }

    /// The last line: the number of results of each kind.
    public func summary(_ results: [ConformanceResult]) -> String {
        let failed = results.count(where: \.isFailure)
        let skipped = results.count { if case .skipped = $0.outcome { true } else { false } }
        let passed = results.count - failed - skipped
        let rest = skipped == 0 ? "" : ", \(skipped) not tested"
        return failed == 0
            ? "conforms: \(passed) of \(results.count) passed\(rest)\n"
            : "does not conform: \(failed) of \(results.count) failed, \(passed) passed\(rest)\n"
    }
}

extension TestSuite {
    /// Creates the results of a client: one test for each requirement, in their order, with the table as output.
    public init(conformanceOf command: [String], results: [ConformanceResult], duration: Duration) {
        let table = ConformanceText(width: 100)
        self.init(
            name: "watchdogd conformance \(command.joined(separator: " "))",
            cases: results.map { Case("\($0.requirement.rawValue): \($0.requirement.text)", .init($0.outcome)) },
            duration: duration,
            output: results.map { table.line($0) }.joined() + "\n" + table.summary(results))
    }
}

extension TestSuite.Case.Outcome {
    fileprivate init(_ outcome: ConformanceResult.Outcome) {
        self =
            switch outcome {
            case .passed: .passed
            case .failed(let reason): .failed(reason, details: "")
            case .skipped(let reason): .skipped(reason)
            }
    }
}
