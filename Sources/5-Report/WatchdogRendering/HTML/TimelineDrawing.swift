// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// A timeline as an SVG whose text has the same size at every width: horizontal positions are percentages.
///
/// Moments are drawn as numbers that the list beside the drawing explains.
struct TimelineDrawing {
    private static let laneHeight = 42
    private static let barHeight = 16

    private let timeline: Timeline
    /// The row of each moment's number, chosen so that numbers do not overlap.
    private let levels: [Int]
    private let axis: Int

    init(_ timeline: Timeline) {
        self.timeline = timeline
        var levels: [Int] = []
        var ends: [Int] = []
        for moment in timeline.moments {
            let place = timeline.position(moment.nanoseconds)
            // A number takes about 7 % of the width of a phone.
            let level = ends.firstIndex { place - $0 >= 750 } ?? ends.count
            if level == ends.count { ends.append(place) } else { ends[level] = place }
            levels.append(level)
        }
        self.levels = levels
        axis = 24 * max(ends.count, 1) + 8
    }

    private var height: Int { axis + 26 + Self.laneHeight * timeline.lanes.count }

    var markup: Markup {
        var svg = Markup()
        svg.tag(
            "svg",
            [
                "class": "timeline", "role": "img", "width": "100%", "height": "\(height)",
                "aria-label": timeline.words,
            ])
        for (moment, level) in zip(timeline.moments, levels) {
            let x = Self.percent(timeline.position(moment.nanoseconds))
            Self.line("hair", x, 24 * level + 21, x, height - 4, &svg)
        }
        scale(&svg)
        for (index, lane) in timeline.lanes.enumerated() { draw(lane, axis + 26 + Self.laneHeight * index, &svg) }
        // SVG draws later elements on top: the numbers must cover the lines of other moments.
        for (index, moment) in timeline.moments.enumerated() {
            let x = Self.percent(timeline.position(moment.nanoseconds))
            let y = 24 * levels[index] + 11
            svg.tag("circle", ["class": "number", "cx": x, "cy": "\(y)", "r": "10"])
            svg.raw("</circle>")
            Self.text(String(index + 1), x, y + 4, "middle", &svg)
        }
        svg.close("svg")
        return svg
    }

    /// The styles that the legend explains.
    var styles: [TimelineLane.Style] {
        let used = timeline.lanes.flatMap(\.bars).map(\.style)
        return TimelineLane.Style.allCases.filter(used.contains)
    }

    private func scale(_ svg: inout Markup) {
        Self.line("axis", timeline.isCut ? "12%" : "1%", axis, "99%", axis, &svg)
        if timeline.isCut { Self.text("//", "8.5%", axis + 4, "middle", &svg) }
        let ticks = timeline.ticks
        let labels = Self.labels(ticks)
        for (tick, label) in zip(ticks, labels) {
            let x = Self.percent(timeline.position(tick))
            Self.line("axis", x, axis - 4, x, axis + 4, &svg)
            Self.text(label, x, axis + 17, timeline.position(tick) > 9_400 ? "end" : "middle", &svg)
        }
    }

    private func draw(_ lane: TimelineLane, _ top: Int, _ svg: inout Markup) {
        Self.text(lane.title, "0.5%", top + 13, "start", &svg)
        let y = top + 19
        for bar in lane.bars {
            let from = timeline.position(bar.from)
            let to = max(timeline.position(bar.to), from)
            let upper = y * 10 + Self.barHeight * bar.height.lowerBound / 100
            let lower = max(y * 10 + Self.barHeight * bar.height.upperBound / 100, upper + 5)
            svg.tag(
                "rect",
                [
                    "class": bar.style.rawValue + (bar.label == nil ? "" : " look"), "x": Self.percent(from),
                    "width": Self.percent(max(to - from, 8)),
                    "y": "\(upper / 10).\(upper % 10)", "height": "\((lower - upper) / 10).\((lower - upper) % 10)",
                ])
            svg.raw("</rect>")
            guard let label = bar.label else { continue }
            if to - from >= 500 { Self.text(label, Self.percent((from + to) / 2), y + 12, "middle", &svg, "letter") }
        }
        for link in lane.links {
            let (from, to) = (timeline.position(link.from), timeline.position(link.to))
            Self.line(
                link.isAnswered ? "answered" : "unanswered", Self.percent(from), y + 8, Self.percent(max(to, from)),
                y + 8, &svg)
        }
        for dot in lane.dots {
            svg.tag(
                "circle",
                [
                    "class": dot.isFilled ? "answer" : "ping", "cx": Self.percent(timeline.position(dot.at)),
                    "cy": "\(y + 8)", "r": "5",
                ])
            svg.raw("</circle>")
        }
    }

    private static func line(
        _ style: String, _ x1: String, _ y1: Int, _ x2: String, _ y2: Int, _ svg: inout Markup
    ) {
        svg.tag("line", ["class": style, "x1": x1, "x2": x2, "y1": "\(y1)", "y2": "\(y2)"])
        svg.raw("</line>")
    }

    private static func text(
        _ text: String, _ x: String, _ y: Int, _ anchor: String, _ svg: inout Markup, _ style: String = "word"
    ) {
        svg.tag("text", ["class": style, "x": x, "y": "\(y)", "text-anchor": anchor])
        svg.text(text)
        svg.raw("</text>\n")
    }

    static func percent(_ hundredths: Int) -> String { "\(hundredths / 100).\((hundredths % 100).padded(2))%" }

    /// `5 s`, `0.5 s`, `20 ms`: all labels use the largest unit that fits one of them.
    static func labels(_ ticks: [Int64]) -> [String] {
        let largest = ticks.map(\.magnitude).max() ?? 0
        let units: [(name: String, size: UInt64)] = [("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000)]
        let unit = units.first { $0.size <= largest } ?? ("ns", 1)
        return ticks.map { tick in
            guard tick != 0 else { return "0" }
            // There are at most six round steps, so the smallest is a fifth of the unit.
            let (whole, rest) = tick.magnitude.quotientAndRemainder(dividingBy: unit.size)
            return "\(tick < 0 ? "−" : "")\(whole)" + (rest == 0 ? "" : ".\(rest / (unit.size / 10))") + " \(unit.name)"
        }
    }
}
