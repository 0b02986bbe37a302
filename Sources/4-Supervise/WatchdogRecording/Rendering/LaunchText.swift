// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

/// How a recording is printed.
public struct LaunchTextStyle: Sendable {
    /// The maximum width of a line, within 60 to 400.
    public let columns: Int
    /// Whether states and headings are colored.
    public let isColored: Bool

    /// Creates a style; the default fits a terminal of the usual 80 columns.
    public init(columns: Int = 79, isColored: Bool = false) {
        self.columns = min(max(columns, 60), 400)
        self.isColored = isColored
    }
}

extension LaunchRecording {
    /// The recording as text: where the time went, phases, lanes, blocks, libraries and advice.
    ///
    /// Names that came from programs and files are made safe for terminals.
    public func text(_ style: LaunchTextStyle = LaunchTextStyle()) -> String {
        var text = LaunchText(LaunchFigures(self), style)
        text.summary()
        text.phases()
        text.lanes()
        text.blocks()
        text.heaviestPath()
        text.functions()
        text.constructors()
        text.libraries()
        text.scheduling()
        text.marks()
        text.advice()
        text.gaps()
        return text.string
    }
}

/// Text under construction.
struct LaunchText {
    /// The colors of terminals; those of states follow Apple's thread-state trace.
    enum Color: String {
        case heading = "1"
        case quiet = "2"
        case warning = "1;31"
        case running = "34"
        case preempted = "33"
        case runnable = "31"
        case blocked = "90"
    }

    let figures: LaunchFigures
    let style: LaunchTextStyle
    private(set) var string = ""

    init(_ figures: LaunchFigures, _ style: LaunchTextStyle) {
        self.figures = figures
        self.style = style
    }

    var recording: LaunchRecording { figures.recording }
    var width: Int { style.columns }

    /// Appends a line.
    mutating func line(_ text: String) {
        // Colored lines end in an escape sequence, never in a blank.
        string += text.reversed().drop { $0 == " " }.reversed() + "\n"
    }

    mutating func heading(_ title: String, _ rest: String = "") {
        string += "\n"
        line(paint(title, .heading) + rest)
    }

    /// Appends wrapped text; all lines but the first are indented by the label's width.
    mutating func paragraph(_ text: String, label: String = "", limit: Int = 6, color: Color? = nil) {
        // A no-break space keeps a figure and its unit on one line.
        let glued = text.replacing(/(\d) (ms|s|µs|%|KiB|MiB|GiB)(?![a-z])/) { "\($0.output.1)\u{a0}\($0.output.2)" }
        for row in Paragraph.lines(glued, label: label, width: width, limit: limit) {
            let row = row.replacing("\u{a0}", with: " ")
            line(color.map { paint(row, $0) } ?? row)
        }
    }

    func paint(_ text: String, _ color: Color) -> String {
        style.isColored && !text.isEmpty ? "\u{1b}[\(color.rawValue)m\(text)\u{1b}[0m" : text
    }

    /// Text of at most that many columns.
    static func cut(_ text: String, _ columns: Int) -> String {
        let safe = text.singleLine(limit: 4_096)
        return safe.count <= columns ? safe : String(safe.prefix(max(0, columns - 1))) + "~"
    }

    /// Milliseconds, so that the digits of a column show magnitudes: `754.0`; in short launches `0.41`.
    func milliseconds(_ duration: Duration) -> String {
        max(.zero, duration).milliseconds(fractionDigits: figures.drawnLength < .milliseconds(100) ? 2 : 1)
    }

    /// Cells with a color for each run of equal ones.
    func drawn(_ cells: [LaneDrawing.Cell]) -> String {
        var text = ""
        var index = 0
        while index < cells.count {
            let end = cells[index...].firstIndex { $0 != cells[index] } ?? cells.count
            let run = String(repeating: cells[index].rawValue, count: end - index)
            text += cells[index].color.map { paint(run, $0) } ?? run
            index = end
        }
        return text
    }
}

extension LaneDrawing.Cell {
    var color: LaunchText.Color? {
        switch self {
        case .running: .running
        case .preempted: .preempted
        case .runnable: .runnable
        case .blocked, .mostlyBlocked, .blockedOrRunnable: .blocked
        case .unknown, .absent: nil
        }
    }
}
