// SPDX-License-Identifier: Apache-2.0

/// The drawings of a page, each with the same in words beside it.
enum HTMLPictures {
    /// Who waits for whom; nothing when the report knows of no wait.
    static func waits(_ report: Report, _ page: inout Markup) {
        guard let graph = WaitGraph(report.body) else { return }
        page.raw("<section aria-labelledby=\"waits\">\n<h2 id=\"waits\">")
        page.text(graph.isDeadlock ? "Who waits for whom: deadlock" : "Who waits for whom")
        page.raw("</h2>\n<figure>\n")
        page.append(WaitGraphDrawing(graph).markup)
        page.raw("<figcaption><ul class=\"plain\">\n")
        for sentence in graph.sentences { page.element("li", sentence) }
        let others = graph.nodes.compactMap(\.thread).filter { $0 != report.body.faultingThread }
        if !others.isEmpty {
            page.raw("<li>Stacks: ")
            for (index, thread) in others.enumerated() {
                if index > 0 { page.raw(", ") }
                page.tag("a", ["href": "#thread-\(thread)"])
                page.text("Thread \(thread)")
                page.raw("</a>")
            }
            page.raw("</li>\n")
        }
        page.raw("</ul></figcaption>\n</figure>\n</section>\n")
    }

    /// What happened when; nothing when the report has no times.
    static func timeline(_ report: Report, _ page: inout Markup) {
        guard let timeline = Timeline(report.body) else { return }
        let drawing = TimelineDrawing(timeline)
        page.raw("<section aria-labelledby=\"time\">\n<h2 id=\"time\">Timeline</h2>\n<figure>\n")
        page.append(drawing.markup)
        page.raw("<figcaption>\n<p class=\"legend\">")
        for style in drawing.styles {
            page.raw("<span class=\"pair\">")
            page.open("span", class: "key \(style.rawValue)")
            page.raw("</span>")
            page.text(style.words)
            page.raw("</span> ")
        }
        page.raw("</p>\n<ol class=\"moments\">\n")
        for moment in timeline.moments {
            page.raw("<li><span class=\"at\">")
            page.text(Timeline.offset(moment.nanoseconds))
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
}
