// SPDX-License-Identifier: Apache-2.0

/// Why `watchdogd-symbolicate` gave no usable answer.
public struct SymbolicationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Kinds of failure.
    public enum Code: Sendable, Hashable {
        /// The program was not found.
        case notFound
        /// The program could not be started.
        case notStarted
        /// It did not end within its budget and was killed.
        case overBudget
        /// It wrote more than any answer has.
        case tooMuchOutput
        /// It failed.
        case failed
        /// Its answer is not what the model allows.
        case malformedAnswer
    }

    /// The kind of failure.
    public let code: Code
    /// What happened, as the rest of a sentence.
    public let detail: String
    /// The end of what it wrote to its standard error, without control characters.
    public let message: String

    init(_ code: Code, _ detail: String, message: String = "") {
        self.code = code
        self.detail = detail
        self.message = message
    }

    /// "No symbols: watchdogd-symbolicate exited with code 3: no luck".
    public var description: String {
        "No symbols: watchdogd-symbolicate \(detail)" + (message.isEmpty ? "." : ": \(message)")
    }
}
