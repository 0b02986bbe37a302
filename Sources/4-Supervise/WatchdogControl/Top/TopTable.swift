// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The table of `watchdogd top`, which fits the width of the terminal.
///
/// Names and states are as wide as necessary. The latest incident gets the rest; on a narrow terminal, less important
/// columns are dropped to leave room for its reason.
struct TopTable {
    private enum Column: CaseIterable {
        case state, uptime, cpu, memory, tasks, ping, trend

        var heading: String {
            switch self {
            case .state: "STATE"
            case .uptime: "UPTIME"
            case .cpu: "CPU%"
            case .memory: "MEM"
            case .tasks: "TASKS"
            case .ping: "PING99"
            case .trend: "TREND"
            }
        }

        var isLeftAligned: Bool { self == .state || self == .trend }

        var width: Int {
            switch self {
            case .state: 10
            case .uptime, .ping: 7
            case .cpu, .tasks: 5
            case .memory: 6
            case .trend: TopScreen.trendLength
            }
        }
    }

    private static let shortestName = 12
    /// The minimum width of an incident: with less, its reason is unreadable.
    private static let shortestIncident = 26
    /// The preferred width of an incident: with less, states are shortened.
    private static let goodIncident = 44
    private static let shortIncident = 9

    private let columns: Int
    private let style: ControlText.Style
    private let isUnicode: Bool
    private let shown: [Column]
    private let nameWidth: Int
    private let stateWidth: Int
    private let incidentWidth: Int
    private let hasLongStates: Bool

    /// - Parameter apps: the shown apps.
    init(of apps: [TopApp], columns: Int, style: ControlText.Style, isUnicode: Bool) {
        self.columns = columns
        self.style = style
        self.isUnicode = isUnicode
        let name = apps.map { $0.summary.name.singleLine().count }.max() ?? 0
        let incident = apps.map { Self.incident($0.summary, style).count }.max() ?? 0
        func state(isLong: Bool) -> Int {
            apps.map { Self.state($0.summary, isLong: isLong, style).count }.reduce(Column.state.width, max)
        }
        func left(_ shown: [Column], state: Int) -> Int {
            columns - shown.reduce(shown.count + 1) { $0 + ($1 == .state ? state : $1.width) }
        }
        var shown = Column.allCases
        let (long, short) = (state(isLong: true), state(isLong: false))
        hasLongStates = left(shown, state: long) - max(name, Self.shortestName) >= min(incident, Self.goodIncident)
        stateWidth = hasLongStates ? long : min(short, 20)
        for column in [Column.tasks, .trend] {
            let room = left(shown, state: stateWidth) - min(name, Self.shortestName)
            guard room < min(incident, Self.shortestIncident) else { break }
            shown.removeAll { $0 == column }
        }
        self.shown = shown
        let room = left(shown, state: stateWidth)
        // "APP*" is four wide.
        nameWidth = max(4, min(name, max(Self.shortestName, room - Self.goodIncident)))
        incidentWidth = max(0, room - nameWidth)
    }

    /// The headings; the one that lines are sorted by is marked.
    func heading(sortedBy order: TopScreen.Order) -> String {
        func mark(_ text: String, _ own: TopScreen.Order) -> String { order == own ? text + "*" : text }
        let cells = shown.map { column in
            switch column {
            case .cpu: mark(column.heading, .cpu)
            case .memory: mark(column.heading, .memory)
            case .ping: mark(column.heading, .ping)
            case .state, .uptime, .tasks, .trend: column.heading
            }
        }
        let incident = mark(incidentWidth > 2 * Self.shortIncident ? "LAST INCIDENT" : "INCIDENT", .incident)
        return row(mark("APP", .name), cells, incident)
    }

    func line(_ app: TopApp, _ trend: [Duration?], isSelected: Bool = false) -> String {
        let summary = app.summary
        let cells = shown.map { column -> String in
            switch column {
            case .state: Self.state(summary, isLong: hasLongStates, style)
            case .uptime: summary.uptime?.duration.coarse ?? "-"
            case .cpu: app.cpu.map { Self.percent($0) } ?? "-"
            case .memory: app.memory.map { Self.size($0) } ?? "-"
            case .tasks: app.tasks.map { "\($0)" } ?? "-"
            case .ping: app.ping?.short ?? "-"
            case .trend: chart(trend)
            }
        }
        let line = row(summary.name.singleLine(), cells, incident(summary))
        guard style.isColored else { return isSelected ? line.cut(to: columns) : line }
        guard !isSelected else { return "\u{1b}[7m\(line.left(columns))\u{1b}[0m" }
        let state = ControlText.colored(cells[0].cut(to: stateWidth).left(stateWidth), summary.meaning, style)
        let start = line.prefix(nameWidth + 1)
        let rest = line.dropFirst(nameWidth + 1 + stateWidth)
        return String(start) + state + String(rest)
    }

    private func row(_ name: String, _ cells: [String], _ incident: String) -> String {
        var text = name.cutInside(to: nameWidth).left(nameWidth)
        for (column, cell) in zip(shown, cells) {
            let width = column == .state ? stateWidth : column.width
            let cut = cell.cut(to: width)
            text += " " + (column.isLeftAligned ? cut.left(width) : cut.right(width))
        }
        text += incidentWidth > 0 ? " " + incident.cut(to: incidentWidth) : ""
        while text.last == " " { text.removeLast() }
        return text
    }

    private static func state(_ app: AppSummary, isLong: Bool, _ style: ControlText.Style) -> String {
        guard let silence = app.silence else { return app.state.rawValue.singleLine().cut(to: Column.state.width) }
        return isLong ? silence.text(at: style.time.now) : silence.shortText(at: style.time.now)
    }

    private func incident(_ app: AppSummary) -> String {
        guard let incident = app.lastIncident else { return "-" }
        guard incidentWidth > 2 * Self.shortIncident else { return style.time.distance(incident.time) }
        return Self.incident(app, style)
    }

    /// "1min ago: blocked 1.96 s in futex (did not answer)".
    private static func incident(_ app: AppSummary, _ style: ControlText.Style) -> String {
        guard let incident = app.lastIncident else { return "-" }
        let time = style.time.distance(incident.time)
        let what = incident.what
        // What follows says how the main thread spent its time.
        guard let whole = incident.verdict, let verdict = whole.singleLine().split(separator: " \u{b7} ").first,
            !verdict.isEmpty
        else { return "\(time): \(incident.event == nil ? incident.summary.singleLine() : what)" }
        let subject = "Main thread "
        return "\(time): \(verdict.hasPrefix(subject) ? verdict.dropFirst(subject.count) : verdict) (\(what))"
    }

    /// The trend of pings; the maximum is a full block.
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
    /// At most seven characters up to a thousand seconds: `250 µs`, `2.5 ms`, `120 ms`, `1.5 s`.
    fileprivate var short: String {
        let microseconds = nanoseconds / 1_000
        switch microseconds {
        case ..<1_000: return "\(microseconds) µs"
        case ..<10_000: return "\(microseconds / 1_000).\(microseconds % 1_000 / 100) ms"
        case ..<1_000_000: return "\(microseconds / 1_000) ms"
        default: return "\(microseconds / 1_000_000).\(microseconds % 1_000_000 / 100_000) s"
        }
    }
}
