// SPDX-License-Identifier: Apache-2.0

/// The reason why `watchdogd-symbolicate` returned no usable answer.
public struct SymbolicationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of failures.
    public enum Code: Sendable, Hashable {
        /// The program was not found.
        case notFound
        /// The program could not be started.
        case notStarted
        /// The program did not finish within its budget and was killed.
        case overBudget
        /// The output exceeds the size of any answer.
        case tooMuchOutput
        /// The program failed.
        case failed
        /// The answer violates the model.
        case malformedAnswer
    }

    /// The kind of failure.
    public let code: Code
    /// A description of the failure, worded as the end of a sentence.
    public let detail: String
    /// The end of the program's standard error, without control characters.
    public let message: String

    init(_ code: Code, _ detail: String, message: String = "") {
        self.code = code
        self.detail = detail
        self.message = message
    }

    /// Whether another attempt may succeed: the program lacked time or memory, or was killed.
    var mayPass: Bool {
        switch code {
        case .notStarted, .overBudget, .failed: true
        case .notFound, .tooMuchOutput, .malformedAnswer: false
        }
    }

    /// "No symbols: watchdogd-symbolicate exited with code 3: no luck".
    public var description: String {
        "No symbols: watchdogd-symbolicate \(detail)" + (message.isEmpty ? "." : ": \(message)")
    }
}
