// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogReport

/// The drawings on a page, each with an equivalent text beside it.
enum HTMLPictures {
    /// Draws who waits for whom; nothing if the report knows of no wait, or of a single one, which the verdict names.
    static func waits(_ report: Report, _ page: inout Markup) {
        guard let graph = WaitGraph(report.body), graph.edges.count > 1 else { return }
        page.raw("<section aria-labelledby=\"waits\">\n<h2 id=\"waits\">")
        page.text(graph.isDeadlock ? "Who waits for whom: deadlock" : "Who waits for whom")
        page.raw("</h2>\n<figure>\n")
        page.append(WaitGraphDrawing(graph).markup)
        page.raw("<figcaption><ul class=\"plain\">\n")
        for sentence in graph.sentences { page.element("li", sentence) }
        let others = graph.nodes.compactMap(\.thread).filter { $0 != report.body.faultingThread }
        let links =
            others.map { ("#thread-\($0)", "Thread \($0)") }
            + (report.body.linux?.waitingProcesses ?? []).map { ("#process-\($0.pid)", $0.title) }
        if !links.isEmpty {
            page.raw("<li>Stacks: ")
            for (index, link) in links.enumerated() {
                if index > 0 { page.raw(", ") }
                page.tag("a", ["href": link.0])
                page.text(link.1)
                page.raw("</a>")
            }
            page.raw("</li>\n")
        }
        page.raw("</ul></figcaption>\n</figure>\n</section>\n")
    }

    /// Draws what happened when; nothing if the report has no times.
    static func timeline(_ report: Report, _ page: inout Markup) {
        guard let timeline = Timeline(report.body) else { return }
        let drawing = TimelineDrawing(timeline)
        page.raw("<section aria-labelledby=\"time\">\n<h2 id=\"time\">Timeline</h2>\n<figure>\n")
        page.append(drawing.markup)
        page.raw("<figcaption>\n<p class=\"legend\">")
        for style in drawing.styles {
            page.raw("<span class=\"pair\">")
            page.begin("span", class: "key \(style.rawValue)")
            page.raw("</span>")
            page.text(style.words)
            page.raw("</span> ")
        }
        page.raw("</p>\n<ol class=\"moments\">\n")
        for moment in timeline.moments {
            page.raw("<li><span class=\"at\">")
            page.text(Duration.nanoseconds(moment.nanoseconds).offsetText)
            page.raw("</span> ")
            page.text(moment.name)
            page.raw("</li>\n")
        }
        page.raw("</ol>\n")
        if !timeline.looks.isEmpty {
            page.raw("<ul class=\"plain\">\n")
            for line in timeline.looks { page.element("li", line) }
            page.raw("</ul>\n")
        }
        page.raw("</figcaption>\n</figure>\n</section>\n")
    }

    /// Draws the phases of the launch and what the app marked in it; nothing if the report knows of none.
    static func launch(_ report: Report, _ page: inout Markup) {
        guard let launch = report.body.linux?.launch else { return }
        let drawing = LaunchDrawing(launch)
        page.raw("<section aria-labelledby=\"launch\">\n<h2 id=\"launch\">Launch</h2>\n<figure>\n")
        page.append(drawing.markup)
        page.raw("<figcaption>\n<ul class=\"plain\">\n")
        for line in launch.lines { page.element("li", line) }
        if drawing.omitted > 0 { page.element("li", "\(drawing.omitted) more marks are not drawn") }
        page.raw("</ul>\n</figcaption>\n</figure>\n</section>\n")
    }
}
