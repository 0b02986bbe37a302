// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogReport
import WatchdogVerdict

/// The folded sections of a page: evidence, registers, images, environment, termination reasons.
enum HTMLDetails {
    static func append(_ report: Report, showsEnvironment: Bool, to page: inout Markup) {
        let body = report.body
        page.raw("<section aria-labelledby=\"more\">\n<h2 id=\"more\">More</h2>\n")
        if let log = body.linux?.log {
            let offset = WallTime(body.captureTime)?.utcOffset ?? 0
            table(
                "Last lines of output", ["Time", "Line"],
                log.shown(utcOffset: offset).map { [$0.time ?? "", $0.text] }, isOpen: true, &page)
        }
        if let evidence = body.linux?.evidence, !evidence.isEmpty {
            table(
                "Evidence", ["What", "Value", "Source"], evidence.map { [$0.what, $0.value, $0.source] }, &page)
        }
        if let lifecycle = body.linux?.lifecycle { lines("Lifecycle", lifecycle.lines, &page) }
        lines("Notes", notes(body), &page)
        if let termination = body.termination {
            let words = "\(termination.namespace) \(termination.code) (\(termination.code.hexadecimal()))"
            let by = termination.byProc.map { "by \($0) [\(termination.byPid ?? 0)]" }
            let all = [words, termination.indicator, by].compactMap(\.self) + (termination.reasons ?? [])
            lines("Termination", all, &page)
        }
        registers(body, &page)
        images(body, &page)
        process(report, &page)
        if showsEnvironment { environment(report, &page) }
        page.raw("</section>\n")
    }

    /// Lines for the reader; those of watchdogd repeat what is shown above, but foreign ones do not.
    private static func notes(_ body: ReportBody) -> [String] {
        let information = (body.applicationSpecificInformation ?? [:]).sorted { $0.key < $1.key }
        let foreign = body.linux == nil ? information.flatMap(\.value) : []
        let triage = body.kernelTriage.map { $0.split(separator: "\n").map(String.init) } ?? []
        return (body.linux?.notes ?? [])
            + (body.linux?.capture?.notes ?? []).filter { note in
                body.linux?.notes.contains(note) != true
            } + foreign + triage
    }

    private static func registers(_ body: ReportBody, _ page: inout Markup) {
        guard body.threads.indices.contains(body.faultingThread),
            let state = body.threads[body.faultingThread].threadState
        else { return }
        var values = state.x.prefix(64).enumerated().map { ("x\($0.offset)", $0.element.value) }
        let order = ThreadState.x86Names
        let named = state.registers.sorted { left, right in
            let places = [left.key, right.key].map { order.firstIndex(of: $0) ?? order.count }
            return (places[0], left.key) < (places[1], right.key)
        }
        values += named.prefix(128).map { ($0.key, $0.value.value) }
        guard !values.isEmpty else { return }
        begin("Registers of thread \(body.faultingThread)", &page)
        page.raw("<dl class=\"registers\">\n")
        for (name, value) in values {
            page.raw("<div>")
            page.element("dt", name)
            page.element("dd", value.hexadecimal(width: 16))
            page.raw("</div>\n")
        }
        page.raw("</dl>\n</details>\n")
    }

    private static func images(_ body: ReportBody, _ page: inout Markup) {
        let ids = body.linux?.buildIDs ?? []
        let rows = body.usedImages.enumerated().compactMap { index, image -> [String]? in
            guard image.source != "A" else { return nil }
            let id = (ids.indices.contains(index) ? ids[index] : nil) ?? image.uuid
            let range = "\(image.base.hexadecimal()) – \((image.base &+ image.size).hexadecimal())"
            return [image.name ?? "???", id, range, image.path ?? ""]
        }
        table("Images", ["Name", "Build-id", "Addresses", "File"], rows, &page)
    }

    private static func process(_ report: Report, _ page: inout Markup) {
        let body = report.body
        let linux = body.linux
        let number = { (value: Int?) in value.map { String($0) } }
        let facts: [(String, String?)] = [
            ("executable", body.procPath), ("command line", linux?.commandLine.joined(separator: " ")),
            ("user", number(body.userID)), ("parent", body.parentProc.map { "\($0) [\(body.parentPid ?? 0)]" }),
            ("role", body.procRole), ("launched", body.procLaunch), ("cgroup", linux?.cgroup),
            ("kernel", linux?.kernelRelease ?? body.osVersion?.build), ("architecture", body.cpuType),
            ("machine up for", body.uptime.map { "\($0) s" }), ("host key", body.crashReporterKey),
        ]
        table(
            "Process and machine", ["What", "Value"],
            facts.compactMap { fact in fact.1.map { [fact.0, $0] } }, &page)
    }

    private static func environment(_ report: Report, _ page: inout Markup) {
        let variables = (report.body.linux?.environment ?? [:]).sorted { $0.key < $1.key }
        table("Environment", ["Variable", "Value"], variables.map { [$0.key, $0.value] }, &page)
    }

    private static func begin(_ title: String, isOpen: Bool = false, _ page: inout Markup) {
        page.raw(isOpen ? "<details open><summary>" : "<details><summary>")
        page.text(title)
        page.raw("</summary>\n")
    }

    private static func lines(_ title: String, _ lines: [String], _ page: inout Markup) {
        guard !lines.isEmpty else { return }
        begin(title, &page)
        page.raw("<ul>\n")
        for line in lines.prefix(256) { page.element("li", line) }
        page.raw("</ul>\n</details>\n")
    }

    private static func table(
        _ title: String, _ heads: [String], _ rows: [[String]], isOpen: Bool = false, _ page: inout Markup
    ) {
        guard !rows.isEmpty else { return }
        begin("\(title) (\(rows.count))", isOpen: isOpen, &page)
        page.tag("div", ["class": "scroll", "tabindex": "0", "role": "region", "aria-label": title])
        page.raw("<table>\n<thead><tr>")
        for head in heads {
            page.tag("th", ["scope": "col"])
            page.text(head)
            page.raw("</th>")
        }
        page.raw("</tr></thead>\n<tbody>\n")
        for row in rows.prefix(ReportLimits.images) {
            page.raw("<tr>")
            for cell in row { page.element("td", cell) }
            page.raw("</tr>\n")
        }
        page.raw("</tbody></table></div>\n</details>\n")
    }
}
