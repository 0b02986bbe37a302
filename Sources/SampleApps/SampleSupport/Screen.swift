// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// The screen of a sample app: a title, rows, optionally a large picture, and a status line.
///
/// It is drawn on a terminal; with `--frames`, every frame is a text file and a PNG file. Without either, the screen is
/// still composed, as an app would for a display that is off.
///
/// Isolation: the main actor.
@MainActor
package final class Screen {
    /// One line of a list.
    package struct Row: Sendable {
        package var title: String
        package var detail: String
        package var picture: Raster?
        /// Whether the row stands for data that has not arrived.
        package var isPlaceholder: Bool

        package init(_ title: String, detail: String = "", picture: Raster? = nil, isPlaceholder: Bool = false) {
            (self.title, self.detail, self.picture, self.isPlaceholder) = (title, detail, picture, isPlaceholder)
        }
    }

    private static let columns = 80
    private static let lines = 20

    package var title: String
    package var rows: [Row] = []
    package var picture: Raster?
    package var footer = ""
    /// The index of the first visible row.
    package var top = 0

    private let terminal: Terminal?
    private let folder: String?
    package private(set) var frames = 0

    package init(title: String, terminal: Terminal?, folder: String?) {
        self.title = title
        self.terminal = terminal
        self.folder = folder
    }

    package static let visibleRows = lines - 4

    package func render() {
        frames += 1
        let text = compose()
        terminal?.show(text)
        guard let folder else { return }
        let name = "\(folder)/frame-\(String(repeating: "0", count: max(0, 4 - "\(frames)".count)))\(frames)"
        try? Data(text.map { "\($0)\n" }.joined().utf8).write(to: URL(filePath: "\(name).txt"))
        try? Data(PNG.encode(draw())).write(to: URL(filePath: "\(name).png"))
    }

    /// The frame as lines of text.
    package func compose() -> [String] {
        var lines = [title, String(repeating: "─", count: Self.columns)]
        for row in rows.dropFirst(top).prefix(Self.visibleRows) {
            let mark = row.isPlaceholder ? "░░" : row.picture.map(Self.swatch) ?? "· "
            lines.append(" \(mark) \(Self.padded(row.title, 34)) \(row.detail)")
        }
        if rows.isEmpty { lines.append("    …") }
        lines += [String(repeating: "─", count: Self.columns), footer]
        return lines.map { String($0.prefix(Self.columns)) }
    }

    /// Two cells with the shade of a picture, because a terminal cannot show it.
    private static func swatch(_ picture: Raster) -> String {
        String(repeating: ["█", "▓", "▒", "░"][min(3, picture.lightness / 64)], count: 2)
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        String(text.prefix(width)) + String(repeating: " ", count: max(0, width - text.count))
    }

    private func draw() -> Raster {
        let rowHeight = 26
        var frame = Raster(width: 480, height: 40 + Self.visibleRows * rowHeight)
        frame.write(title, 10, 8, scale: 2, .accent)
        frame.fill(0, 24, frame.width, 1, .pale)
        for (index, row) in rows.dropFirst(top).prefix(Self.visibleRows).enumerated() {
            let y = 28 + index * rowHeight
            if let picture = row.picture, !row.isPlaceholder {
                frame.place(picture.scaled(toWidth: 36, height: 22), 10, y)
            } else {
                frame.fill(10, y, 36, 22, .pale)
            }
            frame.write(row.title, 54, y + 2, scale: 2, row.isPlaceholder ? .pale : .ink)
            frame.write(row.detail, 54, y + 15, scale: 1, .accent)
        }
        if let picture { frame.place(picture, max(0, frame.width - picture.width - 10), 32) }
        frame.write(footer, 10, frame.height - 10, scale: 1)
        return frame
    }
}
