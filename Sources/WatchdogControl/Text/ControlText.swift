// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// What a terminal shows of the interface's answers: at most 80 columns, and nothing that the terminal could take for a
/// command.
///
/// A path or a word that is longer than a line is not cut, so that it can be copied.
public enum ControlText {
    /// How it is to look.
    public struct Style: Sendable {
        /// Whether states have colours.
        public var isColored: Bool
        /// How many columns a table may have; nil: as many as its cells need, so that a program finds whole names.
        public var columns: Int?
        /// The clock by which times are shown.
        public var time: LocalTime

        /// Creates a style; without arguments, for a terminal of the usual 80 columns.
        public init(isColored: Bool = false, columns: Int? = ControlText.width, time: LocalTime = .current()) {
            self.isColored = isColored
            self.columns = columns
            self.time = time
        }
    }

    /// One less than a terminal's usual 80, so that no terminal wraps.
    public static let width = 79

    /// An answer as JSON, with its members in the order of their names; ends with a newline.
    public static func json(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        return encode(value, encoder)
    }

    /// An answer as JSON on one line, for streams; ends with a newline.
    public static func jsonLine(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encode(value, encoder)
    }

    /// Why a call has no result, as JSON on one line: `message`, and what the daemon has answered, as it was sent.
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

    /// Breaks text into lines of at most ``width`` columns; all but the first are indented.
    static func wrap(_ text: String, indent: Int) -> String {
        let body = text.drop { $0 == " " }
        var lines: [String] = []
        var line = String(text[..<body.startIndex])
        var count = line.count
        var isFresh = true
        for word in body.split(separator: " ", omittingEmptySubsequences: false) {
            if !isFresh, count + 1 + word.count > width {
                lines.append(line)
                line = String(repeating: " ", count: indent)
                count = indent
                isFresh = true
            }
            if !isFresh { line += " " }
            line += word
            count += word.count + (isFresh ? 0 : 1)
            isFresh = false
        }
        lines.append(line)
        return lines.joined(separator: "\n") + "\n"
    }

    static func colored(_ text: String, for state: AppState, _ style: Style) -> String {
        guard style.isColored else { return text }
        let color: String? =
            switch state {
            case .running: "32"
            case .failed, .unkillable, .invalid: "1;31"
            case .waiting, .launching, .terminating, .capturing, .dying: "33"
            default: nil
            }
        return color.map { "\u{1b}[\($0)m\(text)\u{1b}[0m" } ?? text
    }

    static func diagnostics(_ files: [InvalidFile], _ style: Style) -> String {
        files.flatMap(\.diagnostics).map { wrap($0.description.shown, indent: 4) }.joined()
    }
}

extension AppState {
    /// What a list shows of an app that is not there because its files are invalid.
    static let invalid = AppState(rawValue: "invalid")
}
