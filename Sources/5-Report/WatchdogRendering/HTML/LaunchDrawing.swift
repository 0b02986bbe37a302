// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogReport

/// A launch as an SVG: a bar of its phases, below it what the app marked, one row each.
struct LaunchDrawing {
    private struct Bar {
        let from: Int64
        let to: Int64
        let style: TimelineLane.Style
    }

    private struct Row {
        let title: String
        let bars: [Bar]
    }

    /// The most rows of marks that are drawn; the rest is counted.
    static let rowLimit = 40
    private static let rowHeight = 20
    private static let barHeight = 14
    /// Where the bars begin and end, in hundredths of a percent of the width.
    private static let (left, right) = (3_200, 9_900)
    private static let titleLength = 20

    private let details: LaunchDetails
    private let rows: [Row]
    /// The marks that have no row.
    let omitted: Int
    private let low: Int64
    private let high: Int64

    init(_ details: LaunchDetails) {
        self.details = details
        // Tell neighbors apart; the phase in which the launch ended has the color of a missed deadline.
        let styles: [TimelineLane.Style] = [.allowed, .extended, .credit, .paused]
        let phases = details.phases.prefix(16).enumerated().map { index, phase in
            let start = Self.bounded(phase.startNanoseconds)
            let end = Self.bounded(start + max(0, Self.bounded(phase.nanoseconds)))
            return Bar(from: start, to: end, style: phase.isOpen ? .over : styles[index % styles.count])
        }
        low = min(0, phases.map(\.from).min() ?? 0)
        let high = max(1, Self.bounded(details.nanoseconds))
        self.high = high
        let marks = Self.rows(details, until: high)
        omitted = max(0, marks.count - Self.rowLimit)
        rows = [Row(title: "phases", bars: phases)] + marks.prefix(Self.rowLimit)
    }

    private static func bounded(_ value: Int64) -> Int64 { min(max(value, -(1 << 50)), 1 << 50) }

    private static func rows(_ details: LaunchDetails, until end: Int64) -> [Row] {
        func row(_ title: String, _ start: Int64, _ length: Int64, _ style: TimelineLane.Style) -> Row {
            let from = min(max(bounded(start), 0), end)
            return Row(
                title: title, bars: [Bar(from: from, to: min(from + max(0, bounded(length)), end), style: style)])
        }
        let main = details.signposts.filter(\.isOnMainThread)
        let beside = details.signposts.filter { !$0.isOnMainThread }
        return (main + beside).map { mark in
            let style: TimelineLane.Style = mark.isOpen ? .over : mark.isOnMainThread ? .running : .asleep
            return row(mark.name, mark.startNanoseconds, mark.nanoseconds ?? 0, style)
        }
            + details.tasks.map { task in
                row(task.name, task.startNanoseconds, task.nanoseconds, task.isOpen ? .over : .waiting)
            }
    }

    var markup: Markup {
        let height = Self.rowHeight * rows.count + 24
        var svg = Markup()
        svg.tag(
            "svg",
            [
                "class": "timeline", "role": "img", "width": "100%", "height": "\(height)",
                "aria-label": details.lines.joined(separator: ". "),
            ])
        for (index, row) in rows.enumerated() { draw(row, Self.rowHeight * index + 4, &svg) }
        let axis = height - 18
        svg.tag(
            "line",
            [
                "class": "axis", "x1": TimelineDrawing.percent(Self.left), "x2": TimelineDrawing.percent(Self.right),
                "y1": "\(axis)", "y2": "\(axis)",
            ])
        svg.raw("</line>")
        Self.text("0", TimelineDrawing.percent(position(0)), axis + 14, "start", &svg)
        let end = Self.span(high)
        Self.text(end, TimelineDrawing.percent(Self.right), axis + 14, "end", &svg)
        svg.close("svg")
        return svg
    }

    private func draw(_ row: Row, _ top: Int, _ svg: inout Markup) {
        let title = row.title.count > Self.titleLength ? row.title.prefix(Self.titleLength - 1) + "…" : row.title[...]
        Self.text(String(title), "0.5%", top + 11, "start", &svg)
        for bar in row.bars {
            let from = position(bar.from)
            svg.tag(
                "rect",
                [
                    "class": bar.style.rawValue, "x": TimelineDrawing.percent(from),
                    "width": TimelineDrawing.percent(max(position(bar.to) - from, 12)), "y": "\(top)",
                    "height": "\(Self.barHeight)",
                ])
            svg.raw("</rect>")
        }
    }

    private func position(_ nanoseconds: Int64) -> Int {
        let share = Double(min(max(nanoseconds, low), high) - low) / Double(high - low)
        return Self.left + Int((share * Double(Self.right - Self.left)).rounded())
    }

    private static func text(_ text: String, _ x: String, _ y: Int, _ anchor: String, _ svg: inout Markup) {
        svg.tag("text", ["class": "word", "x": x, "y": "\(y)", "text-anchor": anchor])
        svg.text(text)
        svg.raw("</text>\n")
    }

    private static func span(_ nanoseconds: Int64) -> String { LaunchDetails.span(nanoseconds) }
}
