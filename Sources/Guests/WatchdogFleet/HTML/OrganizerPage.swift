// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

/// The page of `watchdogd organizer --html`: self-contained, without scripts; every name in it is escaped.
public enum OrganizerPage {
    /// The maximum number of versions to draw; the latest are used.
    private static let drawnVersions = 10

    /// The page of a table.
    public static func render(_ table: OrganizerTable) -> String {
        var page = Markup()
        head(&page)
        page.raw("<body>\n<main>\n<header>\n<p class=\"who\">watchdogd organizer</p>\n")
        page.element("h1", OrganizerWords.summary(table))
        legend(&page)
        page.raw("</header>\n")
        for app in table.apps { section(app, &page) }
        if table.otherApps > 0 {
            page.element("p", "\(OrganizerWords.grouped(table.otherApps)) more apps", class: "quiet")
        }
        page.raw("</main>\n<footer>\n")
        for note in OrganizerWords.markNote(table) { page.element("p", note) }
        if table.isLimited { page.element("p", OrganizerWords.limitNote) }
        page.element("p", "Days and times are in UTC.")
        page.raw("</footer>\n</body>\n</html>\n")
        return page.string
    }

    private static func head(_ page: inout Markup) {
        page.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
        page.tag(
            "meta",
            [
                "http-equiv": "Content-Security-Policy",
                "content": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
                    + "form-action 'none'",
            ])
        page.raw("\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
        page.raw("<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n")
        page.raw("<title>watchdogd organizer</title>\n<style>")
        page.raw(HTMLAssets.style)
        page.raw(OrganizerAssets.style)
        page.raw("</style>\n</head>\n")
    }

    private static func legend(_ page: inout Markup) {
        page.raw("<p class=\"legend\">")
        for (style, word) in [("latest", "latest version"), ("earlier", "earlier versions")] {
            page.raw("<span class=\"pair\">")
            page.begin("span", class: "key \(style)")
            page.raw("</span>")
            page.text(word)
            page.raw("</span> ")
        }
        page.raw("</p>\n")
    }

    // MARK: - An app

    private static func section(_ app: OrganizerTable.App, _ page: inout Markup) {
        page.begin("section", class: "app")
        page.element("h2", app.name)
        page.element("p", OrganizerWords.heading(app), class: "quiet")
        // A single column adds nothing to the number above it.
        if app.days.count > 1 {
            figure("Incidents per day", &page) { page in
                page.append(OrganizerDrawing.columns(app.days, label: "Incidents of \(app.name) per day"))
            }
        }
        page.raw("<div class=\"pairs\">\n")
        hangs(app, &page)
        launches(app, &page)
        page.raw("</div>\n")
        signatures(app, &page)
        OrganizerTables.versions(app, &page)
        OrganizerTables.terminations(app, &page)
        OrganizerTables.hosts(app, &page)
        page.close("section")
    }

    private static func figure(
        _ title: String, note: String? = nil, _ page: inout Markup, _ body: (inout Markup) -> Void
    ) {
        page.raw("<figure>\n")
        page.element("h3", title)
        body(&page)
        if let note { page.element("p", note, class: "quiet") }
        page.close("figure")
    }

    private static func hangs(_ app: OrganizerTable.App, _ page: inout Markup) {
        // Seconds per hour and hangs per day are not comparable, so do not mix them in one chart.
        func rate(_ version: OrganizerTable.Version, isTimed: Bool) -> Double? {
            switch version.hangRate {
            case .secondsPerHour(let rate, _): isTimed ? rate : nil
            case .hangsPerDay(let rate, _): isTimed ? nil : rate
            case nil: nil
            }
        }
        for isTimed in [true, false] {
            let versions = app.versions.suffix(drawnVersions).filter { rate($0, isTimed: isTimed) != nil }
            let largest = versions.compactMap { rate($0, isTimed: isTimed) }.max() ?? 0
            guard largest > 0 else { continue }
            let rows = versions.map { version in
                OrganizerDrawing.Row(
                    name: version.name, value: OrganizerWords.hangRate(version.hangRate),
                    bar: 0...(rate(version, isTimed: isTimed) ?? 0) / largest, isLatest: version.isLatest)
            }
            let title = isTimed ? "Seconds of hangs per hour of running" : "Hangs per day"
            figure(title, &page) { page in
                page.append(OrganizerDrawing.bars(rows, label: "\(title), by version of \(app.name)"))
            }
        }
    }

    private static func launches(_ app: OrganizerTable.App, _ page: inout Markup) {
        let versions = app.versions.suffix(drawnVersions).filter { $0.launches?.p90 != nil }
        let largest = versions.compactMap { $0.launches?.p90?.nanoseconds }.max() ?? 0
        guard largest > 0 else { return }
        let share = { (duration: Duration?) in Double(max(0, duration?.nanoseconds ?? 0)) / Double(largest) }
        let rows = versions.map { version in
            let launches = version.launches
            return OrganizerDrawing.Row(
                name: version.name,
                value: "\(launches?.p50?.brief ?? "-"), 90 % within \(launches?.p90?.brief ?? "-")",
                bar: share(launches?.p25)...max(share(launches?.p25), share(launches?.p90)),
                line: share(launches?.p50), isLatest: version.isLatest)
        }
        figure("Launch time", note: "From the fastest quarter to 90 %; the line is the median.", &page) { page in
            page.append(OrganizerDrawing.bars(rows, label: "Launch times by version of \(app.name)"))
        }
    }

    private static func signatures(_ app: OrganizerTable.App, _ page: inout Markup) {
        guard !app.signatures.isEmpty else { return }
        let largest = app.signatures.map(\.incidents).max() ?? 1
        page.element("h3", "Faults")
        page.raw("<ol class=\"signatures\">\n")
        for signature in app.signatures {
            page.raw("<li>")
            page.raw("<p>")
            page.begin("span", class: "count")
            page.text(OrganizerWords.grouped(signature.incidents))
            page.close("span")
            if signature.isNew { page.element("span", "new", class: "mark alarm") }
            if let increase = signature.increase {
                page.element(
                    "span", "\(OrganizerWords.number(increase.ratio)) times as often as before", class: "mark alarm")
            }
            page.text(OrganizerWords.fault(signature))
            page.raw("</p>\n<p>")
            page.element("code", OrganizerWords.calls(signature))
            page.raw("</p>\n")
            page.append(
                OrganizerDrawing.split(
                    earlier: signature.incidents - signature.incidentsInLatest, latest: signature.incidentsInLatest,
                    of: largest))
            page.element(
                "p",
                "signature \(signature.id)"
                    + (signature.newest.isEmpty ? "" : " · newest \(signature.newest.prefix(8))") + " · last "
                    + OrganizerWords.date(signature.last) + " (UTC)"
                    + (signature.firstVersion.map { " · since version \($0)" } ?? ""), class: "quiet")
            page.raw("</li>\n")
        }
        page.raw("</ol>\n")
        if app.otherSignatures > 0 {
            page.element("p", "\(OrganizerWords.grouped(app.otherSignatures)) more signatures", class: "quiet")
        }
    }
}

/// The styles of the organizer's page, in addition to those of every page.
///
/// A color has one meaning: green is the latest version, gray all others, red a mark.
enum OrganizerAssets {
    static let style: StaticString = """

        .latest{fill:var(--run);background:var(--run)}.earlier{fill:var(--sleep);background:var(--sleep)}
        .chart{display:block}.chart text{fill:var(--ink);font-size:12px}.chart .value{fill:var(--quiet)}
        .chart .track{fill:var(--soft)}.chart .median{stroke:var(--ink);stroke-width:2}
        section.app{border-top:1px solid var(--line);margin-top:2rem;padding-top:.2rem}
        section.app>h2{font-size:1.35rem;margin-top:1rem}h3{font-size:1rem;margin:1.3rem 0 .3rem;overflow-wrap:anywhere}
        .pairs{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,22rem),1fr));gap:0 2rem}
        .signatures{list-style:none;margin:.4rem 0;padding:0;font-size:.9rem}
        .signatures li{padding:.55rem 0;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
        .signatures p{margin:.1rem 0}.signatures code{font-size:.82rem}
        .signatures .count{font-variant-numeric:tabular-nums;font-weight:700;margin-right:.5em}
        .alarm{color:var(--bad);border-color:currentColor;font-weight:600;margin:0 .4rem 0 0}
        td.figure,th.figure{text-align:right;white-space:nowrap;min-width:0;padding-left:.8rem}
        td.name{min-width:7rem}.figure+.name{padding-left:1.6rem}
        @media print{section.app{break-before:auto}.signatures li{break-inside:avoid}h3{break-after:avoid}
        .chart rect{-webkit-print-color-adjust:exact;print-color-adjust:exact}}

        """
}
