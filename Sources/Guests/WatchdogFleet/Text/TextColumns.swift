// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Rows of a table that fit a width: names are cut, but not numbers.
struct TextColumns {
    private static let gap = "  "

    /// A column's title; `<` at its end aligns it to the left, otherwise it is right-aligned.
    private struct Column {
        let title: String
        let isLeft: Bool
        let least: Int?
    }

    private let columns: [Column]
    private var rows: [[String]] = []

    /// Creates a table.
    ///
    /// - Parameter columns: titles; those with a number are names, aligned to the left and cut down to that width.
    init(_ columns: [(title: String, least: Int?)]) {
        self.columns = columns.map { Column(title: $0.title, isLeft: $0.least != nil, least: $0.least) }
    }

    mutating func add(_ cells: [String]) { rows.append(cells.map { $0.singleLine(limit: 400) }) }

    func lines(width: Int, isUnicode: Bool) -> [String] {
        let all = [columns.map(\.title)] + rows
        var widths = columns.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        func excess() -> Int { widths.reduce(0, +) + Self.gap.count * (widths.count - 1) - width }
        while excess() > 0 {
            let shrinkable = columns.indices.filter { widths[$0] > columns[$0].least ?? .max }
            guard let widest = shrinkable.max(by: { widths[$0] < widths[$1] }) else { break }
            widths[widest] -= 1
        }
        return all.map { row in
            let cells = row.indices.map { index in
                let cut = Self.cut(row[index], to: widths[index], isUnicode: isUnicode)
                return columns[index].isLeft ? cut.alignedLeft(widths[index]) : cut.alignedRight(widths[index])
            }
            var line = cells.joined(separator: Self.gap)
            while line.last == " " { line.removeLast() }
            return line
        }
    }

    /// Cuts a text to this many columns; without Unicode, non-ASCII characters become `?`.
    static func cut(_ text: String, to width: Int, isUnicode: Bool) -> String {
        let cut = text.count > width ? text.prefix(max(0, width - 1)) + (isUnicode ? "…" : "~") : text[...]
        return isUnicode ? String(cut) : String(cut.map { $0 == "·" ? "-" : $0.isASCII ? $0 : "?" })
    }
}
