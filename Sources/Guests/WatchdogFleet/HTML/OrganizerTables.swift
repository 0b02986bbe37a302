// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

enum OrganizerTables {
    static func versions(_ app: OrganizerTable.App, _ page: inout Markup) {
        let hasLaunches = app.versions.contains { $0.launches != nil }
        let titles =
            ["Version", "First seen (UTC)", "Incidents", "Hosts", "Hangs"]
            + (hasLaunches ? ["Launches", "Median", "90 %", "Middle half"] : [])
        let rows = app.versions.map { version in
            [
                version.name, OrganizerWords.date(version.first), OrganizerWords.grouped(version.incidents),
                OrganizerWords.grouped(version.hosts), OrganizerWords.hangRate(version.hangRate),
            ]
                + (hasLaunches
                    ? [
                        version.launches.map { OrganizerWords.grouped($0.count) } ?? "-",
                        version.launches?.p50?.brief ?? "-", version.launches?.p90?.brief ?? "-",
                        OrganizerWords.spread(version.launches),
                    ] : [])
        }
        table("Versions", titles, rows, note: OrganizerWords.hangRateNote(app), &page)
    }

    static func terminations(_ app: OrganizerTable.App, _ page: inout Markup) {
        guard !app.terminations.isEmpty else { return }
        let rows = app.terminations.map { end in
            [OrganizerWords.ending(end)]
                + [end.foreground, end.background, end.unknown].map(OrganizerWords.grouped)
        }
        table(
            OrganizerWords.terminationTitle(app), ["Cause", "Foreground", "Background", "Unknown"], rows, note: nil,
            &page)
    }

    static func hosts(_ app: OrganizerTable.App, _ page: inout Markup) {
        guard !app.hosts.isEmpty else { return }
        let rows = app.hosts.map { host in
            let versions = host.versions.reversed().map { "\($0.name): \(OrganizerWords.grouped($0.incidents))" }
            return [
                host.name, OrganizerWords.grouped(host.incidents), OrganizerWords.grouped(host.hangs),
                versions.joined(separator: ", "),
            ]
        }
        let note = app.otherHosts > 0 ? "\(OrganizerWords.grouped(app.otherHosts)) more hosts" : nil
        table("Hosts", ["Host", "Incidents", "Hangs", "By version"], rows, wordColumn: 3, note: note, &page)
    }

    private static func table(
        _ title: String, _ titles: [String], _ rows: [[String]], wordColumn: Int? = nil, note: String?,
        _ page: inout Markup
    ) {
        page.element("h3", title)
        page.tag("div", ["class": "scroll", "tabindex": "0", "role": "region", "aria-label": title])
        page.raw("<table>\n<tr>")
        let style = { (column: Int) in column == 0 || column == wordColumn ? "name" : "figure" }
        for (column, title) in titles.enumerated() { page.element("th", title, class: style(column)) }
        page.raw("</tr>\n")
        for row in rows {
            page.raw("<tr>")
            for (column, cell) in row.enumerated() { page.element("td", cell, class: style(column)) }
            page.raw("</tr>\n")
        }
        page.raw("</table>\n</div>\n")
        if let note { page.element("p", note, class: "quiet") }
    }
}
