// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

/// Renders a recording as one self-contained HTML page: no network, no fonts, no third-party scripts.
///
/// Every text is escaped, and the page's policy forbids all scripts but its own. Without that script, the page lacks
/// only the lanes; their figures are in a table.
public enum LaunchPage {
    /// Renders a page.
    public static func render(_ recording: LaunchRecording) -> String {
        let figures = LaunchFigures(recording)
        let data = LaunchPageData(figures)
        var page = Markup()
        head(figures, &page)
        page.raw("<body>\n<a class=\"skip\" href=\"#todo\">To the advice</a>\n<main>\n")
        title(figures, &page)
        LaunchPageParts.phases(figures, &page)
        LaunchPageParts.lanes(figures, data, &page)
        LaunchPageParts.blocks(figures, &page)
        LaunchPageParts.advice(figures, &page)
        LaunchPageTables.append(figures, to: &page)
        page.raw("</main>\n<footer>")
        page.text("watchdogd record · \(recording.requested.text(fractionDigits: 0))")
        page.raw("</footer>\n")
        if figures.hasSpans {
            page.raw("<script type=\"application/json\" id=\"data\">")
            page.script(data: data.json)
            page.raw("</script>\n<script>")
            page.raw(LaunchPageAssets.script)
            page.raw("</script>\n")
        }
        page.raw("</body>\n</html>\n")
        return page.string
    }

    private static func head(_ figures: LaunchFigures, _ page: inout Markup) {
        page.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
        page.tag(
            "meta",
            [
                "http-equiv": "Content-Security-Policy",
                "content": "default-src 'none'; style-src 'unsafe-inline'; script-src \(LaunchPageAssets.scriptHash); "
                    + "img-src data:; base-uri 'none'; form-action 'none'",
            ])
        page.raw("\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
        page.raw("<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n<title>")
        page.text("\(figures.name): \(figures.recording.end.words)")
        page.raw("</title>\n<style>")
        page.raw(HTMLAssets.style)
        page.raw(LaunchPageAssets.style)
        page.raw("</style>\n</head>\n")
    }

    private static func title(_ figures: LaunchFigures, _ page: inout Markup) {
        let recording = figures.recording
        page.begin("header", class: recording.end.kind == .killed ? "killed" : "party-app")
        page.raw("<p class=\"who\"><strong>")
        page.text(figures.name)
        page.raw("</strong> ")
        page.text("[\(recording.program.processID)] · launched \(recording.requested.text(fractionDigits: 0))")
        page.raw("</p>\n")
        let words = recording.end.words
        page.element("h1", words.capitalizingFirst)
        if let time = figures.mainTime { shares(time, figures, &page) }
        if let warning = LaunchAdvice.warning(figures) { page.element("p", warning, class: "warning") }
        page.close("header")
        facts(figures, &page)
    }

    /// Shows how the main thread spent the launch.
    private static func shares(_ time: ThreadTime, _ figures: LaunchFigures, _ page: inout Markup) {
        let all = [
            ("running", "on a CPU", time.running), ("runnable", "waiting for a CPU", time.waiting),
            ("blocked", "blocked", time.blocked),
        ]
        page.raw("<svg class=\"shares\" width=\"100%\" height=\"10\" aria-hidden=\"true\">")
        var x = 0
        for (style, _, part) in all {
            let tenths = min(LaunchFigures.tenths(part, of: figures.length), 1_000 - x)
            guard tenths > 0 else { continue }
            LaunchPageParts.rectangle(style, from: x * 10, to: (x + tenths) * 10, height: 10, &page)
            x += tenths
        }
        page.raw("</svg>\n<p class=\"legend\">Main thread: ")
        for (style, words, part) in all where part > .zero {
            page.raw("<span class=\"pair\">")
            page.begin("span", class: "key \(style)")
            page.raw("</span>")
            page.text("\(words) \(LaunchAdvice.share(part, figures))")
            page.raw("</span> ")
        }
        if let stopped = figures.notableRecorderTime {
            page.text("\(LaneSpan.recorderStop) \(LaunchAdvice.share(stopped, figures))")
        }
        page.raw("</p>\n")
    }

    /// What was executed, if it differs from what was requested.
    private static func executed(_ program: LaunchedProgram) -> String {
        program.executables == Array(program.command.prefix(1)) ? "" : program.executables.joined(separator: " → ")
    }

    private static func facts(_ figures: LaunchFigures, _ page: inout Markup) {
        let recording = figures.recording
        let used = recording.resources
        let rung = recording.ladder.first(where: \.used)?.rung
        let host = recording.host
        let rows: [(String, String)] = [
            ("Command", recording.program.command.joined(separator: " ")),
            ("Executed", executed(recording.program)),
            ("Machine", "Linux \(host.kernel) · \(host.architecture) · \(host.processors) CPUs"),
            ("CPU time", used.cpuTime),
            ("Page faults", "\(used.minorFaults), and \(used.majorFaults) from disks"),
            ("Files", used.warmth), ("Memory", used.peakMemory > 0 ? LaunchResources.size(used.peakMemory) : ""),
            ("Recorded", rung.map { "rung \($0.rawValue): \($0.words)" } ?? ""),
            ("Build ID", recording.program.buildID ?? ""),
        ]
        page.raw("<dl class=\"facts\">\n")
        for (name, value) in rows where !value.isEmpty {
            page.raw("<div>")
            page.element("dt", name)
            page.element("dd", value)
            page.raw("</div>\n")
        }
        page.raw("</dl>\n")
    }
}
