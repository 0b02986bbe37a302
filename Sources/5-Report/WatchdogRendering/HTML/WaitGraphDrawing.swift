// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// A graph of waits as an SVG: boxes stacked vertically, with downward arrows between neighbors and all other arrows on
/// the right.
///
/// The page scales the drawing as a whole, so texts are wrapped here. Their font is monospaced.
struct WaitGraphDrawing {
    private struct Box {
        let top: Int
        let height: Int
        let lines: [String]
        /// How many of the lines belong to the title.
        let titles: Int
        var middle: Int { top + height / 2 }
        var bottom: Int { top + height }
    }

    static let width = 340
    private static let lineHeight = 16
    private static let gap = 34
    /// The distance between two arrows on the right.
    private static let lane = 22
    /// For an 11 px monospaced font; a character is slightly wider than six tenths of that.
    private static let characterWidth = 6.7
    private static let lineLimit = 5

    private let graph: WaitGraph
    private let boxes: [Box]
    private let boxWidth: Int
    /// The edges that do not lead to the next box.
    private let detours: [WaitGraph.Edge]

    init(_ graph: WaitGraph) {
        self.graph = graph
        let detours = graph.edges.filter { $0.to != $0.from + 1 }
        self.detours = detours
        let boxWidth = Self.width - 4 - min(detours.count, 5) * Self.lane - (detours.isEmpty ? 0 : 10)
        self.boxWidth = boxWidth
        let columns = Int(Double(boxWidth - 24) / Self.characterWidth)
        var top = 2
        boxes = graph.nodes.map { node in
            let title = Self.wrapped(node.title, columns: columns)
            let lines = title + Self.wrapped(node.details.joined(separator: " · "), columns: columns)
            let box = Box(
                top: top, height: lines.count * Self.lineHeight + 12, lines: lines, titles: title.count)
            top = box.bottom + Self.gap
            return box
        }
    }

    private var height: Int { (boxes.last?.bottom ?? 0) + 3 }

    var markup: Markup {
        var svg = Markup()
        let words = (graph.isDeadlock ? "Deadlock. " : "") + graph.sentences.joined(separator: ". ")
        svg.tag(
            "svg",
            [
                "class": "waits", "role": "img", "viewBox": "0 0 \(Self.width) \(height)",
                "aria-label": "Who waits for whom. \(words)",
            ])
        for edge in graph.edges where edge.to == edge.from + 1 { arrowDown(edge, &svg) }
        for (lane, edge) in detours.enumerated() { detour(edge, lane, &svg) }
        for (node, box) in zip(graph.nodes, boxes) { draw(node, box, &svg) }
        svg.close("svg")
        return svg
    }

    private func draw(_ node: WaitGraph.Node, _ box: Box, _ svg: inout Markup) {
        svg.tag(
            "rect",
            [
                "class": Self.style(node.kind == .thread ? "thread" : "resource", node.isDeadlocked), "x": "2",
                "y": "\(box.top)", "width": "\(boxWidth)", "height": "\(box.height)",
                "rx": node.kind == .thread ? "3" : "14",
            ])
        svg.raw("</rect>")
        for (index, line) in box.lines.enumerated() {
            let isTitle = index < box.titles && node.kind == .thread
            text(line, 14, box.top + 18 + index * Self.lineHeight, isTitle ? "title" : "detail", &svg)
        }
    }

    private func arrowDown(_ edge: WaitGraph.Edge, _ svg: inout Markup) {
        let (from, to) = (boxes[edge.from], boxes[edge.to])
        path("M 30 \(from.bottom) V \(to.top - 6)", edge, &svg)
        head("30,\(to.top) 25,\(to.top - 8) 35,\(to.top - 8)", edge, &svg)
        text(edge.label, 42, from.bottom + Self.gap / 2 + 4, "label", &svg)
    }

    private func detour(_ edge: WaitGraph.Edge, _ lane: Int, _ svg: inout Markup) {
        let right = boxWidth + 2
        let (from, to) = (boxes[edge.from], boxes[edge.to])
        let x = right + 14 + min(lane, 4) * Self.lane
        // Offset the ends, so that two arrows at one box do not meet.
        let (start, end) = (from.middle + 4, to.middle - 4)
        path("M \(right) \(start) H \(x) V \(end) H \(right + 6)", edge, &svg)
        head("\(right),\(end) \(right + 8),\(end - 5) \(right + 8),\(end + 5)", edge, &svg)
        let middle = (start + end) / 2
        svg.tag(
            "text",
            [
                "class": edge.isDeadlocked ? "label deadlock" : "label", "x": "\(x + 4)", "y": "\(middle)",
                "transform": "rotate(90 \(x + 4) \(middle))", "text-anchor": "middle",
            ])
        svg.text(edge.isDeadlocked ? "\(edge.label): deadlock" : edge.label)
        svg.raw("</text>\n")
    }

    private func path(_ points: String, _ edge: WaitGraph.Edge, _ svg: inout Markup) {
        let style = Self.style(edge.isLikely ? "arrow likely" : "arrow", edge.isDeadlocked)
        svg.tag("path", ["class": style, "d": points])
        svg.raw("</path>")
    }

    private func head(_ points: String, _ edge: WaitGraph.Edge, _ svg: inout Markup) {
        svg.tag("polygon", ["class": Self.style("head", edge.isDeadlocked), "points": points])
        svg.raw("</polygon>")
    }

    private func text(_ text: String, _ x: Int, _ y: Int, _ style: String, _ svg: inout Markup) {
        svg.tag("text", ["class": style, "x": "\(x)", "y": "\(y)"])
        svg.text(text)
        svg.raw("</text>\n")
    }

    private static func style(_ style: String, _ isDeadlocked: Bool) -> String {
        isDeadlocked ? "\(style) deadlock" : style
    }

    /// Wraps a text to lines of at most this many characters, at spaces unless that makes a line short; the last line
    /// may end in `...`.
    static func wrapped(_ text: String, columns: Int) -> [String] {
        let columns = max(columns, 8)
        var lines: [String] = []
        var rest = Substring(text.singleLine(limit: columns * lineLimit * 2))
        while !rest.isEmpty {
            guard rest.count > columns else {
                lines.append(String(rest))
                break
            }
            let head = rest.prefix(columns)
            let blank = head.lastIndex(of: " ").map { head[..<$0] }
            let line = blank.flatMap { $0.count > columns / 2 ? $0 : nil } ?? head
            rest = rest[line.endIndex...].drop { $0 == " " }
            if lines.count == lineLimit - 1 {
                lines.append(line.prefix(columns - 3) + "...")
                break
            }
            lines.append(String(line))
        }
        return lines
    }
}
