// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

/// Charts as SVG that scales to its container: positions are fractions of the width.
enum OrganizerDrawing {
    /// A bar below its name and its value.
    struct Row {
        let name: String
        let value: String
        /// The start and the end of the bar, as fractions of the chart's width.
        let bar: ClosedRange<Double>
        /// The position of a line across the bar, as a fraction of the width.
        var line: Double?
        let isLatest: Bool
    }

    private static let rowHeight = 36
    private static let columnHeight = 120
    /// The maximum length of a name, so that a name and a value fit on a line of a phone.
    private static let nameLength = 16

    // MARK: - Bars

    static func bars(_ rows: [Row], label: String) -> Markup {
        var svg = Markup()
        begin(&svg, height: rowHeight * rows.count + 4, label: label)
        for (index, row) in rows.enumerated() {
            let top = rowHeight * index
            let name = row.name.singleLine(limit: 200)
            text(
                name.count > nameLength ? "\(name.prefix(nameLength - 1))…" : name, x: "0", y: top + 14,
                anchor: "start",
                &svg)
            text(row.value, x: "100%", y: top + 14, anchor: "end", style: "value", &svg)
            rectangle("track", x: 0, width: 1, y: top + 19, height: 10, &svg)
            rectangle(
                row.isLatest ? "latest" : "earlier", x: row.bar.lowerBound,
                width: max(0.004, row.bar.upperBound - row.bar.lowerBound), y: top + 19, height: 10, &svg)
            guard let line = row.line else { continue }
            svg.tag(
                "line",
                [
                    "class": "median", "x1": percent(line), "x2": percent(line), "y1": "\(top + 16)",
                    "y2": "\(top + 32)",
                ])
            svg.raw("</line>")
        }
        svg.close("svg")
        return svg
    }

    // MARK: - Columns

    /// A column for each day: earlier versions below, the latest above.
    static func columns(_ days: [OrganizerTable.Day], label: String) -> Markup {
        let largest = max(1, days.map { $0.before + $0.latest }.max() ?? 1)
        var svg = Markup()
        begin(&svg, height: columnHeight + 36, label: label)
        text(
            "\(OrganizerWords.grouped(largest)) per day", x: "0", y: 12, anchor: "start", style: "value", &svg)
        let (top, bottom) = (18, 18 + columnHeight)
        let width = 1 / Double(max(1, days.count))
        for (index, day) in days.enumerated() {
            let x = Double(index) * width
            let before = day.before == 0 ? 0 : max(1, day.before * columnHeight / largest)
            let latest = day.latest == 0 ? 0 : max(1, day.latest * columnHeight / largest)
            let space = days.count > 60 ? 0 : width * 0.15
            for (style, height, base) in [("earlier", before, bottom), ("latest", latest, bottom - before)]
            where height > 0 {
                rectangle(
                    style, x: x + space / 2, width: width - space, y: max(top, base - height), height: height, &svg)
            }
        }
        svg.tag("line", ["class": "axis", "x1": "0", "x2": "100%", "y1": "\(bottom)", "y2": "\(bottom)"])
        svg.raw("</line>")
        if let first = days.first, let last = days.last {
            text(OrganizerWords.date(first.day * 86_400), x: "0", y: bottom + 15, anchor: "start", &svg)
            if first != last {
                text(OrganizerWords.date(last.day * 86_400), x: "100%", y: bottom + 15, anchor: "end", &svg)
            }
        }
        svg.close("svg")
        return svg
    }

    // MARK: - One signature

    /// A bar of a signature's incidents, whose length is relative to the most frequent signature.
    static func split(earlier: Int, latest: Int, of largest: Int) -> Markup {
        var svg = Markup()
        svg.raw("<svg class=\"chart\" width=\"100%\" height=\"8\" aria-hidden=\"true\">")
        let all = Double(max(1, largest))
        let (before, after) = (Double(earlier) / all, Double(latest) / all)
        rectangle("track", x: 0, width: 1, y: 0, height: 8, &svg)
        if earlier > 0 { rectangle("earlier", x: 0, width: max(0.004, before), y: 0, height: 8, &svg) }
        if latest > 0 { rectangle("latest", x: before, width: max(0.004, after), y: 0, height: 8, &svg) }
        svg.close("svg")
        return svg
    }

    // MARK: - Parts

    private static func begin(_ svg: inout Markup, height: Int, label: String) {
        svg.tag(
            "svg", ["class": "chart", "role": "img", "width": "100%", "height": "\(height)", "aria-label": label])
    }

    private static func rectangle(
        _ style: String, x: Double, width: Double, y: Int, height: Int, _ svg: inout Markup
    ) {
        let x = min(max(0, x), 1)
        svg.tag(
            "rect",
            [
                "class": style, "x": percent(x), "width": percent(min(max(0, width), 1 - x)), "y": "\(y)",
                "height": "\(height)",
            ])
        svg.raw("</rect>")
    }

    private static func text(
        _ text: String, x: String, y: Int, anchor: String, style: String = "name", _ svg: inout Markup
    ) {
        svg.tag("text", ["class": style, "x": x, "y": "\(y)", "text-anchor": anchor])
        svg.text(text)
        svg.raw("</text>\n")
    }

    /// A fraction as a percentage with four digits: `12.34%`.
    private static func percent(_ share: Double) -> String {
        let hundredths = Int((min(max(0, share), 1) * 10_000).rounded())
        return "\(hundredths / 100).\((hundredths % 100).padded(2))%"
    }
}
