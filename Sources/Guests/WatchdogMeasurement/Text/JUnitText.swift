// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

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
