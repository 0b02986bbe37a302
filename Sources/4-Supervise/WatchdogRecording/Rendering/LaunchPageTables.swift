// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

/// The folded parts of a page.
enum LaunchPageTables {
    /// How many rows a table has; more make a browser slow.
    private static let rowLimit = 500

    static func append(_ figures: LaunchFigures, to page: inout Markup) {
        let recording = figures.recording
        let marks = recording.marks.map { [$0.time.brief, $0.title] }
        table("Marks", ["time", "what"], marks, isOpen: true, &page)
        let constructors = figures.constructorsByTime.map { constructor in
            let times = [constructor.time?.running, constructor.time?.waiting, constructor.time?.blocked]
            return [constructor.title, constructor.object, constructor.begin.brief]
                + [constructor.wall.brief + (constructor.isComplete ? "" : ", not finished")]
                + times.map { $0.map { $0 == .zero ? "0" : $0.brief } ?? "–" }
        }
        table(
            "Constructors", ["function", "file", "start", "wall", "on CPU", "waiting", "blocked"], constructors,
            style: "loose", &page)
        let objects = figures.objectsByCost.map { object in
            let times = [object.mapping, object.relocation].map { $0?.brief ?? "–" }
            let use = object.isUsed.map { $0 ? "yes" : "no" } ?? "–"
            return [object.path, object.cost.brief] + times
                + [LaunchResources.size(object.size), use, object.isLate ? "after main had begun" : ""]
        }
        table(
            "Libraries", ["file", "total", "mapping", "relocation", "size", "in samples", "loaded"], objects,
            style: "loose", &page)
        if let samples = recording.samples {
            let path = samples.heaviestPath.map {
                [percentText(tenths: samples.tenths(of: $0)), $0.function, $0.object ?? ""]
            }
            table("Heaviest path of the main thread", ["samples", "function", "file"], path, &page)
            let paths = recording.phasePaths
            if paths.count > 1 {
                table(
                    "Heaviest path of each phase (* the program's own code)", ["phase", "samples", "path"],
                    paths.map { [$0.title, "\($0.count)", $0.calls.joined(separator: " > ")] }, &page)
            }
            let functions = samples.functions.prefix(Self.rowLimit).map {
                [percentText(tenths: samples.tenths(of: $0)), $0.function, $0.object ?? ""]
            }
            table("Functions that the main thread ran in", ["samples", "function", "file"], functions, &page)
        }
        let threads = figures.lanesByWeight.map { lane, account in
            [
                String(lane.threadID), lane.name, account[.running].brief, account.waiting.brief, account.blocked.brief,
                lane.scheduling?.words ?? "–",
            ]
        }
        table("Threads", ["id", "name", "on CPU", "waiting", "blocked", "scheduling"], threads, &page)
        let gaps = LaunchAdvice.gaps(recording)
        guard !gaps.isEmpty else { return }
        page.raw("<section aria-labelledby=\"notes\">\n<h2 id=\"notes\">Notes</h2>\n<ul class=\"sure\">\n")
        for note in gaps.prefix(64) { page.element("li", note) }
        page.raw("</ul>\n</section>\n")
    }

    private static func table(
        _ title: StaticString, _ columns: [String], _ rows: [[String]], isOpen: Bool = false, style: String? = nil,
        _ page: inout Markup
    ) {
        guard !rows.isEmpty else { return }
        page.raw(isOpen ? "<details open><summary>" : "<details><summary>")
        page.raw(title)
        page.text(" (\(rows.count))")
        page.raw("</summary><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"")
        page.raw(title)
        page.raw("\">")
        page.begin("table", class: style)
        page.raw("\n<thead><tr>")
        for column in columns { page.element("th", column) }
        page.raw("</tr></thead>\n<tbody>\n")
        for row in rows.prefix(rowLimit) {
            page.raw("<tr>")
            for cell in row { page.element("td", cell) }
            page.raw("</tr>\n")
        }
        page.raw("</tbody></table></div>")
        if rows.count > rowLimit { page.element("p", "and \(rows.count - rowLimit) more", class: "quiet") }
        page.raw("</details>\n")
    }
}
