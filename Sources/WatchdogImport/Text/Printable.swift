// SPDX-License-Identifier: Apache-2.0

/// Texts from files of others, for messages.
enum Printable {
    /// The text without characters that could move a terminal's cursor or reorder its line.
    static func text(_ text: some StringProtocol, limit: Int = 4096) -> String {
        var result = String.UnicodeScalarView()
        for (count, scalar) in text.unicodeScalars.enumerated() {
            guard count < limit else {
                result.append("…")
                break
            }
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: result.append("\u{fffd}")
            default: result.append(scalar)
            }
        }
        return String(result)
    }

    /// The text in double quotes, cut.
    static func quoted(_ text: some StringProtocol) -> String { "\"\(Printable.text(text, limit: 60))\"" }

    /// `Key=Value`, cut.
    static func setting(_ key: some StringProtocol, _ value: some StringProtocol) -> String {
        "\(Printable.text(key, limit: 60))=\(Printable.text(value, limit: 40))"
    }
}
