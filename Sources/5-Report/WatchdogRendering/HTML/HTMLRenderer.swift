// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogReport
import WatchdogVerdict

/// Renders a report as one self-contained HTML page: no network, no fonts, no third-party scripts.
///
/// Every text in the report is escaped, and the page's policy forbids all scripts but its own. The page works without
/// that script, which only folds sections.
public enum HTMLRenderer {
    /// How many frames are shown in total; with more, browsers become slow.
    static let frameLimit = 20_000

    /// Renders a report, ours or one of Apple's.
    ///
    /// - Parameter showsEnvironment: whether the page has the environment, which pages that are passed on should not.
    public static func render(_ report: Report, showsEnvironment: Bool = false) -> String {
        let explanation = Explanation(of: report)
        var page = Markup()
        head(report, &page)
        page.raw("<body>\n<a class=\"skip\" href=\"#stack\">To the stack</a>\n<main>\n")
        verdict(report, explanation, &page)
        page.raw(contentsMark)
        HTMLPictures.waits(report, &page)
        facts(report, explanation, &page)
        HTMLPictures.timeline(report, &page)
        HTMLPictures.launch(report, &page)
        var left = frameLimit
        HTMLStacks.faulting(report, &left, &page)
        HTMLStacks.goroutines(report, &left, &page)
        confidence(explanation, &page)
        HTMLStacks.others(report, explanation, &left, &page)
        HTMLStacks.processes(report, &left, &page)
        HTMLDetails.append(report, showsEnvironment: showsEnvironment, to: &page)
        page.raw("</main>\n<footer>")
        page.text("Incident \(report.metadata.incidentID) · keys: e unfolds all, c folds all")
        page.raw("</footer>\n<script>")
        page.raw(HTMLAssets.script)
        page.raw("</script>\n</body>\n</html>\n")
        return page.string.replacing(contentsMark.description, with: contents(of: page.string), maxReplacements: 1)
    }

    /// Where the table of contents goes once the sections are known; no text of a report contains it, because `<` is escaped.
    private static let contentsMark: StaticString = "<!-- contents -->"

    /// Links to the sections of a page; nothing if there are few.
    private static func contents(of page: String) -> String {
        let headings = page.matches(of: #/<h2 id="([a-z0-9-]+)">([^<]*)<\/h2>/#)
        guard headings.count > 2 else { return "" }
        let links = headings.prefix(12).map { "<a href=\"#\($0.output.1)\">\($0.output.2)</a>" }
        return "<nav aria-label=\"Contents\">\(links.joined(separator: " "))</nav>\n"
    }

    private static func confidence(_ explanation: Explanation, _ page: inout Markup) {
        page.raw("<section aria-labelledby=\"sure\">\n<h2 id=\"sure\">How sure</h2>\n<ul class=\"sure\">\n")
        for line in explanation.confidence.prefix(32) { page.element("li", line) }
        page.raw("</ul>\n</section>\n")
    }

    private static func head(_ report: Report, _ page: inout Markup) {
        page.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
        page.tag(
            "meta",
            [
                "http-equiv": "Content-Security-Policy",
                "content": "default-src 'none'; style-src 'unsafe-inline'; script-src \(HTMLAssets.scriptHash); "
                    + "img-src data:; base-uri 'none'; form-action 'none'",
            ])
        page.raw("\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
        page.raw("<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n<title>")
        page.text("\(report.metadata.appName): \(report.body.linux?.verdict.brief ?? report.body.exception.type)")
        page.raw("</title>\n<style>")
        page.raw(HTMLAssets.style)
        page.raw("</style>\n</head>\n")
    }

    private static func verdict(_ report: Report, _ explanation: Explanation, _ page: inout Markup) {
        let verdict = report.body.linux?.verdict
        let parts = explanation.verdict.split(separator: " · ", maxSplits: 1).map(String.init)
        let party = explanation.blame?.party ?? .unknown
        // The first of two.
        let color = party == .appAndMachine ? Blame.Party.app : party
        page.begin("header", class: "party-\(color.rawValue.replacing(" ", with: "-"))")
        page.raw("<p class=\"who\"><strong>")
        page.text(explanation.app)
        page.raw("</strong> ")
        page.text("[\(explanation.pid)] · \(EventWords.omission(explanation.event)) · \(explanation.when)")
        page.raw("</p>\n")
        page.element("h1", explanation.headline ?? parts.first ?? explanation.verdict)
        if explanation.headline != nil { page.element("p", parts.first ?? explanation.verdict, class: "kernel") }
        if let running = verdict?.runningTenths, let waiting = verdict?.waitingTenths {
            shares(running: running, waiting: waiting, &page)
        } else if parts.count > 1 {
            page.element("p", parts[1], class: "quiet")
        }
        place(explanation, &page)
        if let cause = explanation.cause {
            page.raw("<p class=\"cause\"><strong>Cause:</strong> ")
            page.text("\(cause).")
            page.raw("</p>\n")
        }
        if let blame = explanation.blame {
            page.raw("<p class=\"fault\"><strong>Fault: ")
            page.text(blame.party.rawValue)
            page.raw("</strong> – ")
            page.text("\(blame.reason).")
            page.raw("</p>\n")
        }
        page.raw("<p class=\"todo\"><strong>What to do:</strong> ")
        page.text(explanation.advice)
        page.raw("</p>\n")
        page.close("header")
    }

    /// Shows the innermost call, and the app's call that led there.
    private static func place(_ explanation: Explanation, _ page: inout Markup) {
        guard let innermost = explanation.innermost else { return }
        page.raw("<p class=\"place\">")
        if let joined = explanation.joined { page.text("\(joined) is ") }
        if let goroutine = explanation.goroutine { page.text("goroutine \(goroutine) is ") }
        page.raw("in ")
        if explanation.isInnermostFolded {
            page.text(Explanation.unnamedCalls(explanation.foldedCount))
        } else {
            page.element("code", innermost.function)
        }
        if let own = explanation.calls.first, own.number != innermost.number {
            page.raw(" from ")
            page.element("code", own.function, class: "own")
            if let source = own.source { page.text(" \(source)") }
        } else if let source = innermost.source {
            page.text(" \(source)")
        }
        page.raw("</p>\n")
    }

    /// Shows how the main thread spent the window.
    private static func shares(running: Int, waiting: Int, _ page: inout Markup) {
        let running = min(max(running, 0), 1_000)
        let waiting = min(max(waiting, 0), 1_000 - running)
        let all = [
            ("running", running), ("waiting for CPU", waiting), ("asleep", 1_000 - running - waiting),
        ]
        page.raw("<svg class=\"shares\" width=\"100%\" height=\"10\" aria-hidden=\"true\">")
        var x = 0
        for (name, tenths) in all where tenths > 0 {
            page.tag(
                "rect",
                [
                    "class": "\(name.prefix { $0 != " " })", "x": "\(x / 10).\(x % 10)%", "y": "0",
                    "width": "\(tenths / 10).\(tenths % 10)%", "height": "10",
                ])
            page.raw("</rect>")
            x += tenths
        }
        page.raw("</svg>\n<p class=\"legend\">")
        for (name, tenths) in all {
            page.raw("<span class=\"pair\">")
            page.begin("span", class: "key \(name.prefix { $0 != " " })")
            page.raw("</span>")
            page.text("\(percentText(tenths: tenths)) \(name)")
            page.raw("</span> ")
        }
        page.raw("</p>\n")
    }

    private static func facts(_ report: Report, _ explanation: Explanation, _ page: inout Markup) {
        let body = report.body
        let linux = body.linux
        func seconds(_ value: Int64?) -> String? {
            value.map { Duration.nanoseconds($0).seconds(fractionDigits: 2) + " s" }
        }
        let machine = [
            linux?.hostName, linux.map { $0.processorCount.counted("CPU") },
            body.osVersion?.train ?? report.metadata.osVersion, body.modelCode == "unknown" ? nil : body.modelCode,
        ].compactMap(\.self).joined(separator: " · ")
        let version = [body.bundleInfo?.shortVersion, body.bundleInfo?.version.map { "(\($0))" }]
            .compactMap(\.self).joined(separator: " ")
        let isCapture = linux?.kind == .capture
        let rows: [(String, String?)] = [
            ("App", "\(explanation.app) [\(explanation.pid)] \(version)"), ("Event", explanation.event),
            (linux?.missed?.label ?? "", linux?.missed?.words),
            ("Allowance", explanation.allowance != nil ? seconds(linux?.allowance.nanoseconds) : nil),
            ("Elapsed", isCapture ? nil : seconds(linux?.allowance.elapsedNanoseconds)), ("When", body.captureTime),
            ("Machine", machine), ("Runs in", linux?.workload?.words),
            isCapture
                ? ("Capture", "the stacks were requested; the process continues") : ("Exception", exception(body)),
            ("Kill", linux.flatMap { $0.crash == nil && !isCapture ? kill($0) : nil }),
            ("Stacks", linux?.crash?.stacks),
            ("Status", linux?.status), ("Summary", linux?.summary),
            ("Signature", explanation.signature.id),
        ]
        page.raw("<dl class=\"facts\">\n")
        for (name, value) in rows {
            guard let value, !value.isEmpty else { continue }
            page.raw("<div>")
            page.element("dt", name)
            page.element("dd", value)
            page.raw("</div>\n")
        }
        page.raw("</dl>\n")
    }

    /// A report that ended nothing has the exception of a kill, because other readers need one.
    private static func exception(_ body: ReportBody) -> String {
        body.exception.type + (body.exception.signal.map { " (\($0))" } ?? "")
            + (body.isSimulated == 1 ? ", simulated: this is not a crash" : "")
    }

    private static func kill(_ linux: LinuxDetails) -> String {
        switch linux.kill.outcome {
        case "verified":
            let after = Duration.nanoseconds(linux.kill.nanoseconds ?? 0).seconds(fractionDigits: 3)
            return "every process gone after \(after) s"
        case "unverified": return "sent, effect not verified"
        case "unkillable":
            return "did not end pid " + linux.kill.survivors.prefix(8).map(String.init).joined(separator: ", ")
        default: return linux.enforcement == "report" ? "none: it was left running" : "none"
        }
    }
}
