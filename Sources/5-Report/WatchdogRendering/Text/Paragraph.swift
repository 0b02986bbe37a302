// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Text wrapped to a bounded width and safe for a terminal.
package enum Paragraph {
    /// Wraps a text between words; words longer than a line are truncated.
    ///
    /// - Parameters:
    ///   - label: the text before the first line; the other lines are indented by its width.
    ///   - limit: the maximum number of lines; the last ends in `...` if there would be more.
    package static func lines(_ text: String, label: String = "", width: Int = 79, limit: Int = .max) -> [String] {
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
