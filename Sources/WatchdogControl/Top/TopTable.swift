// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The table of `watchdogd top`, as wide as the terminal.
struct TopTable {
    /// State, uptime, CPU, memory, tasks, ping, trend.
    private static let widths = [10, 7, 5, 6, 5, 7, TopScreen.trendLength]
    private static let headings = ["STATE", "UPTIME", "CPU%", "MEM", "TASKS", "PING99", "TREND"]
    private static let shortestName = 12
    private static let longestName = 32
    private static let shortIncident = 9

    private let columns: Int
    private let style: ControlText.Style
    private let isUnicode: Bool
    private let nameWidth: Int
    private let incidentWidth: Int

    init(columns: Int, style: ControlText.Style, isUnicode: Bool) {
        self.columns = columns
        self.style = style
        self.isUnicode = isUnicode
        let left = columns - Self.widths.reduce(Self.widths.count + 1, +)
        nameWidth = min(max(Self.shortestName, left - 40), Self.longestName)
        incidentWidth = max(0, left - nameWidth)
    }

    /// The headings; the one that lines are sorted by is marked.
    func heading(sortedBy order: TopScreen.Order) -> String {
        func mark(_ text: String, _ own: TopScreen.Order) -> String { order == own ? text + "*" : text }
        var cells = Self.headings
        cells[2] = mark("CPU%", .cpu)
        cells[3] = mark("MEM", .memory)
        cells[5] = mark("PING99", .ping)
        let incident = mark(incidentWidth > 2 * Self.shortIncident ? "LAST INCIDENT" : "INCIDENT", .incident)
        return row(mark("APP", .name), cells, incident)
    }

    func line(_ app: TopApp, _ trend: [Duration?], isSelected: Bool = false) -> String {
        let summary = app.summary
        let memory = app.memory.map { Self.size($0) }
        let tasks = app.tasks.map { "\($0)" }
        let cells: [String] = [
            summary.state.rawValue.shown, summary.uptime?.duration.coarse ?? "-",
            app.cpu.map { Self.percent($0) } ?? "-", memory ?? "-", tasks ?? "-", app.ping?.short ?? "-",
            chart(trend),
        ]
        let line = row(summary.name.shown, cells, incident(summary))
        guard style.isColored else { return isSelected ? line.cut(to: columns) : line }
        guard !isSelected else { return "\u{1b}[7m\(line.left(columns))\u{1b}[0m" }
        let state = ControlText.colored(cells[0].left(Self.widths[0]), for: summary.state, style)
        let start = line.prefix(nameWidth + 1)
        let rest = line.dropFirst(nameWidth + 1 + Self.widths[0])
        return String(start) + state + String(rest)
    }

    private func row(_ name: String, _ cells: [String], _ incident: String) -> String {
        var text = name.cutInside(to: nameWidth).left(nameWidth)
        for (index, cell) in cells.enumerated() {
            let width = Self.widths[index]
            text +=
                " " + (index == 0 || index == 6 ? cell.cut(to: width).left(width) : cell.cut(to: width).right(width))
        }
        text += incidentWidth > 0 ? " " + incident.cut(to: incidentWidth) : ""
        while text.last == " " { text.removeLast() }
        return text
    }

    private func incident(_ app: AppSummary) -> String {
        guard let incident = app.lastIncident else { return "-" }
        let time = style.time.distance(incident.time)
        guard incidentWidth > 2 * Self.shortIncident else { return time }
        let what = (incident.event ?? incident.kind.rawValue).shown
        return "\(what), \(time)" + (incident.verdict.map { ": \($0.shown)" } ?? "")
    }

    /// The trend of pings; its highest is a full block.
    private func chart(_ trend: [Duration?]) -> String {
        let blocks = Array(isUnicode ? "▁▂▃▄▅▆▇█" : ".:-=+*%#")
        let highest = trend.compactMap(\.self).max()?.nanoseconds ?? 0
        let text = trend.map { ping -> Character in
            guard let ping, highest > 0 else { return " " }
            return blocks[min(blocks.count - 1, Int(ping.nanoseconds * Int64(blocks.count - 1) / highest))]
        }
        return String(text).right(TopScreen.trendLength)
    }

    /// `3.5`, `125`.
    private static func percent(_ share: Double) -> String {
        let tenths = Int((min(max(share, 0), 10_000) * 1_000).rounded())
        return tenths < 1_000 ? "\(tenths / 10).\(tenths % 10)" : "\((tenths + 5) / 10)"
    }

    /// `512K`, `35M`, `1.5G`.
    private static func size(_ bytes: UInt64) -> String {
        switch bytes {
        case ..<(10 << 20): "\(bytes >> 10)K"
        case ..<(10 << 30): "\(bytes >> 20)M"
        default: "\(bytes >> 30).\((bytes >> 20) % 1_024 * 10 / 1_024)G"
        }
    }
}

extension Duration {
    /// At most six characters: `250µs`, `2.5ms`, `120ms`, `1.5s`.
    fileprivate var short: String {
        let microseconds = nanoseconds / 1_000
        switch microseconds {
        case ..<1_000: return "\(microseconds)µs"
        case ..<10_000: return "\(microseconds / 1_000).\(microseconds % 1_000 / 100)ms"
        case ..<1_000_000: return "\(microseconds / 1_000)ms"
        default: return "\(microseconds / 1_000_000).\(microseconds % 1_000_000 / 100_000)s"
        }
    }
}
