// SPDX-License-Identifier: Apache-2.0

/// What is wrong with a configuration file, and where.
public struct ControlDiagnostic: Hashable, Sendable, Codable, CustomStringConvertible {
    /// How bad it is.
    public enum Severity: String, Hashable, Sendable, Codable {
        /// The app cannot be used as it is written.
        case error
        /// The app can be used, though probably not as it was meant.
        case warning
    }

    /// How bad it is.
    public var severity: Severity
    /// The file's path.
    public var file: String
    /// The line, counted from 1; nil when the file as a whole is meant.
    public var line: Int?
    /// The column, counted from 1; nil when the file as a whole is meant.
    public var column: Int?
    /// One sentence without a final stop.
    public var message: String
    /// What to write instead, when that is known.
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
