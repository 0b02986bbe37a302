// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension ControlText {
    private static let gap = "  "
    /// The maximum number of app names in a line.
    private static let mostNames = 5
    private static let headings = ["APP", "STATE", "PID", "UPTIME", "RESTARTS", "LAST INCIDENT"]
    /// The columns of an outline: the app, its state and its restarts.
    private static let outlineColumns = [0, 1, 4]
    private static let withheld = "Only root and the owner of this watchdogd see more than names and states."

    private struct Row {
        let name: String
        let meaning: TextStyle.Meaning?
        var cells: [String]
        /// The short form of the state, for a table that is too wide.
        let shortState: String
    }

    /// A table with a line per app, the diagnostics of invalid files, and the number of apps in each state.
    ///
    /// Apps that are missing because of invalid files have a line, too.
    public static func list(_ reply: ListReply, style: Style = Style()) -> String {
        let known = Set(reply.apps.map(\.name))
        let invalid = reply.invalidFiles.map(\.name).filter { !$0.isEmpty && !known.contains($0) }
        let rows =
            reply.apps.map { row($0, style) }
            + invalid.map { name in
                Row(
                    name: name, meaning: meaning(of: .invalid),
                    cells: [name.singleLine(), "invalid", "-", "-", "-", "-"], shortState: "invalid")
            }
        let columns = reply.isWithheld == true ? outlineColumns : Array(0..<6)
        var text = table(rows.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }, columns, style)
        let diagnostics = diagnostics(reply.invalidFiles, style)
        if !diagnostics.isEmpty {
            if !text.isEmpty { text += "\n" }
            text += diagnostics
        }
        if !text.isEmpty { text += "\n" }
        return text + total(reply, style) + unwatched(reply.apps, style)
            + (reply.isWithheld == true ? wrap(withheld, indent: 0, style) : "")
    }

    private static func table(_ apps: [Row], _ shown: [Int], _ style: Style) -> String {
        guard !apps.isEmpty else { return "" }
        var apps = apps
        var widths = Self.widths(of: apps, shown)
        if let columns = style.columns, widths.reduce(gap.count * (shown.count - 1), +) > columns {
            for index in apps.indices { apps[index].cells[1] = apps[index].shortState }
            widths = Self.widths(of: apps, shown)
        }
        let rows = [headings] + apps.map(\.cells)
        if let columns = style.columns {
            // The incident shrinks first, down to its heading; then names, which keep their beginning and end.
            let left = columns - widths[1...4].reduce(gap.count * 5, +)
            widths[0] = min(widths[0], max(12, left - min(widths[5], rows[0][5].count)))
            widths[5] = min(widths[5], max(3, left - widths[0]))
        }
        return rows.enumerated().map { index, row in
            let cells = shown.map { column in
                let cell = row[column]
                let cut = column == 0 ? cell.cutInside(to: widths[0]) : cell.cut(to: widths[column])
                switch column {
                case 1:
                    let padded = cut.left(widths[column])
                    return index == 0 ? padded : colored(padded, apps[index - 1].meaning, style)
                case 2...4: return cut.right(widths[column])
                case 5: return cut
                default: return cut.left(widths[column])
                }
            }
            return cells.joined(separator: gap) + "\n"
        }.joined()
    }

    private static func widths(of apps: [Row], _ shown: [Int]) -> [Int] {
        headings.indices.map { column in
            guard shown.contains(column) else { return 0 }
            return apps.map { $0.cells[column].count }.reduce(headings[column].count, max)
        }
    }

    private static func row(_ app: AppSummary, _ style: Style) -> Row {
        let state = app.state.rawValue.singleLine().cut(to: 11)
        let incident = app.lastIncident.map { incident in
            "\(incident.what), \(style.time.distance(incident.time))"
        }
        let cells = [
            app.name.singleLine(),
            app.silence?.text(at: style.time.now) ?? state,
            app.pid.map { "\($0)" } ?? "-",
            app.uptime.map(\.duration.rough) ?? "-",
            "\(app.restarts)",
            incident ?? "-",
        ]
        return Row(
            name: app.name, meaning: app.meaning, cells: cells,
            shortState: app.silence?.shortText(at: style.time.now) ?? state)
    }

    /// The line about apps without hang detection.
    private static func unwatched(_ apps: [AppSummary], _ style: Style) -> String {
        let names = apps.filter { $0.isWatched == false }.map { $0.name.singleLine() }
        guard let first = names.first else { return "" }
        let more = names.count > mostNames ? " and \(names.count - mostNames) more" : ""
        return wrap(
            "Nothing watches \(names.prefix(mostNames).joined(separator: ", "))\(more) for hangs;"
                + " 'watchdogd status \(names.count == 1 ? first : "APP")' names the setting that would.",
            indent: 4, style)
    }

    private static func total(_ reply: ListReply, _ style: Style) -> String {
        wrap(total(of: reply.apps, invalidFiles: reply.invalidFiles.count), indent: 4, style)
    }

    /// The number of apps in each state, where an app that does not answer counts as such: "1 not answering".
    static func total(of apps: [AppSummary], invalidFiles invalid: Int) -> String {
        total(of: apps.map(\.standing), invalidFiles: invalid)
    }

    /// The number of apps in each state: "3 apps: 1 waiting, 2 running; 1 invalid file".
    public static func total(of states: [AppState], invalidFiles invalid: Int) -> String {
        var text = states.count.counted("app")
        let counts = Dictionary(grouping: states, by: \.self).mapValues(\.count)
        let unknown = Set(counts.keys).subtracting(AppState.allCases).sorted { $0.rawValue < $1.rawValue }
        let parts = (AppState.allCases + unknown).compactMap { state in
            counts[state].map { "\($0) \(state.rawValue.singleLine())" }
        }
        if !parts.isEmpty { text += ": " + parts.joined(separator: ", ") }
        if invalid > 0 { text += "; \(invalid) invalid \(invalid == 1 ? "file" : "files")" }
        return text
    }
}
