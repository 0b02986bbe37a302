// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The results as JSON: the command, and one object for each requirement.
public struct ConformanceReport: Encodable {
    private struct Row: Encodable {
        let requirement: String
        let text: String
        let outcome: String
        let remark: String?
    }

    private let format = "watchdogd-conformance/1"
    private let command: [String]
    private let conforms: Bool
    private let requirements: [Row]

    /// Creates a report; the requirements keep the order of the results.
    public init(command: [String], results: [ConformanceResult]) {
        self.command = command
        conforms = !results.contains(where: \.isFailure)
        requirements = results.map { result in
            let (outcome, remark) =
                switch result.outcome {
                case .passed(let text): ("passed", text)
                case .failed(let text): ("failed", text)
                case .skipped(let text): ("skipped", text)
                }
            return Row(
                requirement: result.requirement.rawValue, text: result.requirement.text, outcome: outcome,
                remark: remark.isEmpty ? nil : remark)
        }
    }

    /// The JSON text, which ends with a newline.
    public func encoded() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self) + "\n"
    }
}
