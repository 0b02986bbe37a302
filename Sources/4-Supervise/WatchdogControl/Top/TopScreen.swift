// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The screen of `watchdogd top`, and its reaction to keys.
///
/// A pure value without a clock, a terminal or a connection: readings and keys are the input, lines the output.
public struct TopScreen: Sendable {
    /// An action of a key that the screen cannot execute itself.
    public enum Action: Hashable, Sendable {
        case quit
        /// Show the crash log at this path.
        case open(report: String)
    }

    /// The sort order of lines.
    enum Order: Character, CaseIterable, Sendable {
        case name = "n"
        case cpu = "c"
        case memory = "m"
        case ping = "p"
        case incident = "i"
    }

    /// The number of readings in a trend.
    static let trendLength = 8

    private(set) var apps: [TopApp] = []
    private(set) var order = Order.name
    private(set) var filter = ""
    private var isFiltering = false
    private var selected: String?
    /// The latest pings of each app, the newest last; nil for a reading in which it did not answer.
    private var trends: [String: [Duration?]] = [:]
    private var message = ""
    /// The first visible line of the table.
    private var offset = 0

    /// Creates an empty screen.
    public init() {}

    // MARK: - Readings and keys

    /// Takes a new reading.
    public mutating func update(_ apps: [TopApp]) {
        self.apps = apps
        let names = Set(apps.map(\.summary.name))
        trends = trends.filter { names.contains($0.key) }
        for (index, app) in apps.enumerated() {
            let name = app.summary.name
            // Pings may be less frequent than readings: until the next one, show the latest answer.
            if app.ping == nil, app.summary.silence == nil {
                self.apps[index].ping = trends[name]?.last ?? nil
            } else {
                trends[name] = (trends[name] ?? []).suffix(Self.trendLength - 1) + [app.ping]
            }
        }
        message = ""
    }

    /// Handles a key.
    public mutating func press(_ key: TopKey) -> Action? {
        if key == .interrupt { return .quit }
        if isFiltering { return type(key) }
        message = ""
        switch key {
        case .character("q"),
            .escape where filter.isEmpty:
            return .quit
        case .escape: filter = ""
        case .character("/"): isFiltering = true
        case .character(let letter):
            if let order = Order(rawValue: letter) { self.order = order }
            if letter == "j" { move(by: 1) }
            if letter == "k" { move(by: -1) }
        case .up: move(by: -1)
        case .down: move(by: 1)
        case .pageUp: move(by: -10)
        case .pageDown: move(by: 10)
        case .enter: return openReport()
        case .backspace, .interrupt: break
        }
        return nil
    }

    private mutating func type(_ key: TopKey) -> Action? {
        switch key {
        case .enter: isFiltering = false
        case .escape:
            isFiltering = false
            filter = ""
        case .backspace: _ = filter.popLast()
        case .character(let letter): if filter.count < 64 { filter.append(letter) }
        case .up, .down, .pageUp, .pageDown, .interrupt: break
        }
        return nil
    }

    private mutating func move(by count: Int) {
        let names = visible.map(\.summary.name)
        guard !names.isEmpty else { return }
        let current = selected.flatMap { names.firstIndex(of: $0) } ?? (count > 0 ? -1 : names.count)
        selected = names[min(max(0, current + count), names.count - 1)]
    }

    private mutating func openReport() -> Action? {
        guard let app = visible.first(where: { $0.summary.name == selected }) else {
            message = "select an app with the arrow keys first"
            return nil
        }
        guard let report = app.summary.lastIncident?.report else {
            message = "\(app.summary.name.singleLine()) has no crash log"
            return nil
        }
        return .open(report: report)
    }

    /// The apps that match the filter, in order.
    var visible: [TopApp] {
        let wanted = filter.isEmpty ? apps : apps.filter { $0.summary.name.contains(filter) }
        return wanted.sorted { one, other in
            switch order {
            case .name: return byName(one, other)
            case .cpu: return more(one.cpu, other.cpu) ?? byName(one, other)
            case .memory: return more(one.memory, other.memory) ?? byName(one, other)
            case .ping: return more(one.ping, other.ping) ?? byName(one, other)
            case .incident: return more(one.incidentTime, other.incidentTime) ?? byName(one, other)
            }
        }
    }

    private func byName(_ one: TopApp, _ other: TopApp) -> Bool {
        one.summary.name.utf8.lexicographicallyPrecedes(other.summary.name.utf8)
    }

    /// Whether the first comes first because it is larger; nil if both are equal.
    ///
    /// Unknown values come last.
    private func more<Value: Comparable>(_ one: Value?, _ other: Value?) -> Bool? {
        switch (one, other) {
        case (let one?, let other?): one == other ? nil : one > other
        case (.some, nil): true
        case (nil, .some): false
        case (nil, nil): nil
        }
    }

    // MARK: - Lines

    /// The lines of a terminal, each at most `columns` wide.
    ///
    /// - Parameters:
    ///   - columns: the width of the terminal; `Int.max` without one, where nothing is cut.
    ///   - rows: the height of the terminal; nil for all lines and no help, as for a pipe.
    ///   - isUnicode: whether the terminal shows non-ASCII characters.
    public mutating func lines(columns: Int, rows: Int?, style: ControlText.Style, isUnicode: Bool) -> [String] {
        let apps = visible
        let table = TopTable(of: apps, columns: columns, style: style, isUnicode: isUnicode)
        let total = ControlText.total(of: self.apps.map(\.summary), invalidFiles: 0)
        let heading = table.heading(sortedBy: order)
        guard let rows else {
            return [heading] + apps.map { table.line($0, trends[$0.summary.name] ?? []) } + ["", total]
        }
        let room = max(1, rows - 4)
        if let index = apps.firstIndex(where: { $0.summary.name == selected }) {
            offset = min(max(offset, index - room + 1), index)
        }
        offset = min(offset, max(0, apps.count - room))
        var lines = [total.cut(to: columns), "", style.isColored ? "\u{1b}[1m\(heading)\u{1b}[0m" : heading]
        for app in apps.dropFirst(offset).prefix(room) {
            lines.append(
                table.line(app, trends[app.summary.name] ?? [], isSelected: app.summary.name == selected))
        }
        lines += Array(repeating: "", count: max(0, rows - 1 - lines.count))
        return lines + [footer.cut(to: columns)]
    }

    private var footer: String {
        if isFiltering { return "filter: \(filter.singleLine())_   Enter keeps it, Esc drops it" }
        if !message.isEmpty { return message.singleLine() }
        let filtered = filter.isEmpty ? "/ filter" : "/ \(filter.singleLine()) (Esc shows all)"
        return "sort: n name c CPU m memory p ping i incident  \(filtered)  Enter report  q quit"
    }
}

extension TopApp {
    fileprivate var incidentTime: Int64? { summary.lastIncident?.time.microseconds }
}
