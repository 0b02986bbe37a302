// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The text of `watchdogd organizer`.
public struct OrganizerText: Sendable {
    /// The terminal's width; `Int.max` without one, where nothing is cut.
    public var columns: Int
    /// Whether non-ASCII characters may be used.
    public var isUnicode: Bool

    private static let fewestColumns = 79

    /// Creates a style; the default suits a terminal of 80 columns.
    public init(columns: Int = 79, isUnicode: Bool = true) {
        self.columns = max(Self.fewestColumns, columns)
        self.isUnicode = isUnicode
    }

    /// The text of a table, with a final newline; no line is wider than ``columns``.
    public func text(_ table: OrganizerTable) -> String {
        guard !table.apps.isEmpty else { return "no incidents\n" }
        var lines = OrganizerWords.summary(table).wrapped(columns: columns, indent: "  ")
        for app in table.apps { lines += [""] + section(app) }
        if table.otherApps > 0 { lines += ["", "\(OrganizerWords.grouped(table.otherApps)) more apps"] }
        var notes = OrganizerWords.markNote(table)
        if table.isLimited { notes.append(OrganizerWords.limitNote) }
        if !notes.isEmpty { lines.append("") }
        for note in notes { lines += note.wrapped(columns: columns, indent: "  ") }
        return lines.map { TextColumns.cut($0, to: columns, isUnicode: isUnicode) + "\n" }.joined()
    }

    private func section(_ app: OrganizerTable.App) -> [String] {
        var lines = ["\(app.name.singleLine(limit: columns / 2)): \(OrganizerWords.heading(app))"]
        lines += [""] + versions(app)
        if let note = OrganizerWords.hangRateNote(app) { lines += note.wrapped(columns: columns, indent: "  ") }
        if !app.terminations.isEmpty { lines += [""] + terminations(app) }
        if !app.signatures.isEmpty { lines += [""] + signatures(app) }
        if !app.hosts.isEmpty { lines += [""] + hosts(app) }
        return lines
    }

    private func versions(_ app: OrganizerTable.App) -> [String] {
        let hasLaunches = app.versions.contains { $0.launches != nil }
        var columns: [(title: String, least: Int?)] = [
            ("VERSION", 10), ("SINCE (UTC)", nil), ("INCIDENTS", nil), ("HOSTS", nil), ("HANGS", nil),
        ]
        if hasLaunches { columns += [("LAUNCH P50", nil), ("P90", nil), ("MIDDLE HALF", nil)] }
        // Drop the day if the numbers need the room.
        let showsDay = !hasLaunches || self.columns >= 100
        if !showsDay { columns.remove(at: 1) }
        var table = TextColumns(columns)
        for version in app.versions {
            var cells = [
                version.name + (version.isLatest ? " (latest)" : ""), OrganizerWords.date(version.first),
                OrganizerWords.grouped(version.incidents), OrganizerWords.grouped(version.hosts),
                OrganizerWords.hangRate(version.hangRate),
            ]
            if hasLaunches {
                cells += [
                    version.launches?.p50?.brief ?? "-", version.launches?.p90?.brief ?? "-",
                    OrganizerWords.spread(version.launches),
                ]
            }
            if !showsDay { cells.remove(at: 1) }
            table.add(cells)
        }
        return table.lines(width: self.columns, isUnicode: isUnicode)
    }

    private func terminations(_ app: OrganizerTable.App) -> [String] {
        var table = TextColumns([
            (OrganizerWords.terminationTitle(app).uppercased(), 20), ("FOREGROUND", nil), ("BACKGROUND", nil),
            ("UNKNOWN", nil),
        ])
        for end in app.terminations {
            table.add([OrganizerWords.ending(end)] + [end.foreground, end.background, end.unknown].map(Self.count))
        }
        return table.lines(width: columns, isUnicode: isUnicode)
    }

    private func signatures(_ app: OrganizerTable.App) -> [String] {
        let hasMarks = app.signatures.contains { !OrganizerWords.mark($0).isEmpty }
        var head: [(title: String, least: Int?)] = [("SIGNATURE", 9), ("INCIDENTS", nil)]
        if app.latest != nil { head.append(("IN LATEST", nil)) }
        if hasMarks { head.append(("MARK", nil)) }
        var table = TextColumns(head + [("FAULT", 20)])
        for signature in app.signatures {
            let start =
                [signature.id.singleLine(limit: 12), OrganizerWords.grouped(signature.incidents)]
                + (app.latest == nil ? [] : [Self.count(signature.incidentsInLatest)])
            let blanks = [String](repeating: "", count: start.count + (hasMarks ? 1 : 0))
            table.add(start + (hasMarks ? [OrganizerWords.mark(signature)] : []) + [OrganizerWords.fault(signature)])
            table.add(blanks + ["  " + OrganizerWords.calls(signature)])
        }
        var lines = table.lines(width: columns, isUnicode: isUnicode)
        if app.otherSignatures > 0 { lines.append("\(OrganizerWords.grouped(app.otherSignatures)) more") }
        return lines
    }

    private func hosts(_ app: OrganizerTable.App) -> [String] {
        var table = TextColumns([("HOST", 12), ("INCIDENTS", nil), ("HANGS", nil), ("BY VERSION", 12)])
        for host in app.hosts {
            let versions = host.versions.reversed().map { "\($0.name): \(OrganizerWords.grouped($0.incidents))" }
            table.add([
                host.name.singleLine(limit: 64), OrganizerWords.grouped(host.incidents), Self.count(host.hangs),
                versions.joined(separator: ", "),
            ])
        }
        var lines = table.lines(width: columns, isUnicode: isUnicode)
        if app.otherHosts > 0 { lines.append("\(OrganizerWords.grouped(app.otherHosts)) more") }
        return lines
    }

    private static func count(_ count: Int) -> String { count == 0 ? "-" : OrganizerWords.grouped(count) }
}
