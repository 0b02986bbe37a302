// SPDX-License-Identifier: Apache-2.0

/// Text in lines of bounded width, safe for a terminal.
enum Paragraph {
    /// Breaks a text between words; a word longer than a line is cut.
    ///
    /// - Parameters:
    ///   - label: stands before the first line, blanks of the same width before the others.
    ///   - limit: the most lines; the last ends in `...` when there would be more.
    static func lines(_ text: String, label: String = "", width: Int = 79, limit: Int = .max) -> [String] {
        let room = max(8, width - label.count)
        var lines: [String] = []
        var line = ""
        for word in text.singleLine(limit: 16_384).split(separator: " ") {
            if !line.isEmpty, line.count + 1 + word.count > room {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
            while line.count > room {
                lines.append(String(line.prefix(room)))
                line = String(line.dropFirst(room))
            }
        }
        if !line.isEmpty || lines.isEmpty { lines.append(line) }
        if lines.count > limit {
            lines = Array(lines.prefix(limit))
            lines[limit - 1] = String(lines[limit - 1].prefix(room - 3)) + "..."
        }
        let indent = String(repeating: " ", count: label.count)
        return lines.enumerated().map { ($0.offset == 0 ? label : indent) + $0.element }
    }
}
