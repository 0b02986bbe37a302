// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// What is wrong with a configuration file, where, and what to write instead.
public struct ConfigurationDiagnostic: Hashable, Sendable, CustomStringConvertible {
    /// The severity of the problem.
    public enum Severity: String, Hashable, Sendable {
        /// The app cannot be used as configured.
        case error
        /// The app can be used, but probably not as intended.
        case warning
    }

    /// A piece of the source line, safe for a terminal.
    public struct Excerpt: Hashable, Sendable {
        /// The line or a part of it, without control characters.
        public let text: String
        /// The number of scalars in ``text`` before the place.
        public let caret: Int
        /// The number of scalars marked from there, at least one.
        public let length: Int
    }

    /// The severity of the problem.
    public let severity: Severity
    /// The file's path as it was given.
    public let file: String
    /// The line, counted from 1; nil for the whole file.
    public let line: Int?
    /// The column, counted in Unicode scalars from 1; nil for the whole file.
    public let column: Int?
    /// One sentence without a period.
    public let message: String
    /// What to write instead, if known.
    public let suggestion: String?
    /// The source.
    public let excerpt: Excerpt?

    /// Creates a diagnostic about the whole file.
    public init(_ severity: Severity, file: String, _ message: String, suggestion: String? = nil) {
        self.severity = severity
        self.file = file
        self.line = nil
        self.column = nil
        self.message = message
        self.suggestion = suggestion
        self.excerpt = nil
    }

    /// Creates a diagnostic about a place.
    public init(
        _ severity: Severity, at place: ConfigurationPlace, _ message: String, suggestion: String? = nil,
        excerpt: Excerpt? = nil
    ) {
        self.severity = severity
        self.file = place.file
        self.line = place.line
        self.column = place.column
        self.message = message
        self.suggestion = suggestion
        self.excerpt = excerpt
    }

    /// One line: `file:line:column: error: message; did you mean "suggestion"?`.
    public var description: String {
        let place = [line, column].compactMap { $0.map { ":\($0)" } }.joined()
        let question = suggestion.map { "; did you mean \($0.quoted())?" } ?? ""
        return "\(file.singleLine())\(place): \(severity.rawValue): \(message)\(question)"
    }

    /// The ``description`` followed by the source line with a caret, as compilers print it; ends with a newline.
    public var text: String { text(in: TextStyle()) }

    /// The same in a style.
    func text(in style: TextStyle) -> String {
        let title = style(description, severity == .error ? .failure : .caution)
        guard let line, let excerpt else { return title + "\n" }
        let number = String(line)
        let margin = String(repeating: " ", count: max(0, 5 - number.utf8.count))
        let gutter = String(repeating: " ", count: max(5, number.utf8.count))
        let blanks = String(repeating: " ", count: excerpt.caret)
        let tail = String(repeating: "~", count: excerpt.length - 1)
        return """
            \(title)
            \(margin)\(number) | \(excerpt.text)
            \(gutter) | \(blanks)^\(tail)

            """
    }
}

extension ConfigurationDiagnostic: Encodable {
    private enum CodingKeys: CodingKey {
        case severity
        case file
        case line
        case column
        case message
        case suggestion
    }

    /// Encodes everything but the excerpt; omits nil.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(severity.rawValue, forKey: .severity)
        try container.encode(file, forKey: .file)
        try container.encodeIfPresent(line, forKey: .line)
        try container.encodeIfPresent(column, forKey: .column)
        try container.encode(message, forKey: .message)
        try container.encodeIfPresent(suggestion, forKey: .suggestion)
    }
}

/// A place in a configuration file.
public struct ConfigurationPlace: Hashable, Sendable, CustomStringConvertible {
    /// The file's path as it was given.
    public let file: String
    /// The line, counted from 1.
    public let line: Int
    /// The column, counted in Unicode scalars from 1.
    public let column: Int

    /// `file:line:column`.
    public var description: String { "\(file):\(line):\(column)" }
}

extension StringProtocol {
    /// The text in double quotes for a message: truncated, on one line, safe for a terminal.
    func quoted(limit: Int = 80) -> String { "\"\(singleLine(limit: limit))\"" }
}

extension Unicode.Scalar {
    /// False for what app files and scripts do not take: controls, formatting characters and line separators.
    var isPrintable: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: false
        default: true
        }
    }
}
