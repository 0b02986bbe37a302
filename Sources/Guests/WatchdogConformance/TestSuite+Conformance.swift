// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

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
