// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import WatchdogBase

/// The text of replies for a terminal: at most 80 columns, and no escape sequences from untrusted text.
///
/// A path or word that is longer than a line is not cut, so that it can be copied.
public enum ControlText {
    /// The style of the text.
    public struct Style: Sendable {
        /// Whether states are colored.
        public var isColored: Bool
        /// The maximum width of a table; nil for unlimited, so that programs get complete names.
        public var columns: Int?
        /// The clock and the time zone for shown times.
        public var time: LocalTime

        /// Creates a style; the default is for a terminal of the usual 80 columns.
        public init(isColored: Bool = false, columns: Int? = ControlText.width, time: LocalTime = .current()) {
            self.isColored = isColored
            self.columns = columns
            self.time = time
        }
    }

    /// One less than a terminal's usual 80, so that no terminal wraps.
    public static let width = 79

    /// A reply as JSON, with sorted members and a final newline.
    public static func json(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        return encode(value, encoder)
    }

    /// A reply as JSON on one line, for streams, with a final newline.
    public static func jsonLine(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encode(value, encoder)
    }

    /// The failure of a call as JSON on one line: `message`, and the daemon's reply as it was sent.
    public static func json(_ error: ControlClientError) -> String {
        struct Failure: Encodable {
            let message: String
            let error: String?
            let parameters: ControlError.Parameters?
        }
        let refusal = error.controlError
        return jsonLine(
            Failure(message: error.description, error: refusal?.wireName, parameters: refusal?.parameters))
    }

    private static func encode(_ value: some Encodable, _ encoder: JSONEncoder) -> String {
        do {
            return String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
        } catch {
            preconditionFailure("answers hold only strings, integers and truth values, which JSON can hold: \(error)")
        }
    }

    // MARK: - Pieces

    /// Wraps text at the style's columns, or else at ``width``; all lines but the first are indented.
    static func wrap(_ text: String, indent: Int, _ style: Style) -> String {
        let lines = text.wrapped(columns: style.columns ?? width, indent: String(repeating: " ", count: indent))
        return lines.joined(separator: "\n") + "\n"
    }

    static func colored(_ text: String, _ meaning: TextStyle.Meaning?, _ style: Style) -> String {
        TextStyle(isColored: style.isColored)(text, meaning)
    }

    static func meaning(of state: AppState) -> TextStyle.Meaning? {
        switch state {
        case .running: .success
        case .failed, .unkillable, .invalid: .failure
        case .waiting, .launching, .terminating, .capturing, .dying: .caution
        default: nil
        }
    }

    static func diagnostics(_ files: [InvalidFile], _ style: Style) -> String {
        files.flatMap(\.diagnostics).map { wrap($0.description.singleLine(), indent: 4, style) }.joined()
    }
}

extension AppState {
    /// The state that a list shows for an app with invalid files.
    static let invalid = AppState(rawValue: "invalid")
}

extension String {
    /// The text in at most `limit` columns; a longer one ends with `...`.
    func cut(to limit: Int) -> String {
        count <= limit ? self : String(prefix(max(0, limit - 3))) + "..."
    }

    /// The text in at most `limit` columns; a longer one keeps its beginning and its end.
    func cutInside(to limit: Int) -> String {
        guard count > limit else { return self }
        let kept = max(0, limit - 3)
        return String(prefix((kept + 1) / 2)) + "..." + String(suffix(kept / 2))
    }

    /// The text padded with trailing spaces.
    func left(_ width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }

    /// The text padded with leading spaces.
    func right(_ width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }
}
