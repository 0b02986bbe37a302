// SPDX-License-Identifier: Apache-2.0

/// A problem in a configuration file, and its place.
public struct ControlDiagnostic: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The severity of the problem.
    public enum Severity: String, Hashable, Sendable, Codable {
        /// The app cannot be used as configured.
        case error
        /// The app can be used, but probably not as intended.
        case warning
    }

    /// The severity of the problem.
    public var severity: Severity
    /// The file's path.
    public var file: String
    /// The line, counted from 1; nil for the whole file.
    public var line: Int?
    /// The column, counted from 1; nil for the whole file.
    public var column: Int?
    /// The problem: one sentence without a period.
    public var message: String
    /// The text to write instead, if known.
    public var suggestion: String?

    /// Creates a diagnostic.
    public init(
        _ severity: Severity, file: String, line: Int? = nil, column: Int? = nil, message: String,
        suggestion: String? = nil
    ) {
        self.severity = severity
        self.file = file
        self.line = line
        self.column = column
        self.message = message
        self.suggestion = suggestion
    }

    /// One line: `file:line:column: error: message; did you mean "suggestion"?`.
    public var description: String {
        let place = [line, column].compactMap { $0.map { ":\($0)" } }.joined()
        let question = suggestion.map { "; did you mean \"\($0)\"?" } ?? ""
        return "\(file)\(place): \(severity.rawValue): \(message)\(question)"
    }
}
