// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

/// The drawings of a page, each with an equivalent text beside it, and the advice.
enum LaunchPageParts {
    /// Appends a bar; places are in hundredths of a percent of the width.
    static func rectangle(_ style: String, from: Int, to: Int, height: Int, _ page: inout Markup) {
        page.tag(
            "rect",
            [
                "class": style, "x": percent(from), "y": "0", "width": percent(to - from), "height": String(height),
            ])
        page.raw("</rect>")
    }

    private static func percent(_ hundredths: Int) -> String { "\(hundredths / 100).\((hundredths % 100).padded(2))%" }

    /// Draws the phases as one bar, with a table below.
    static func phases(_ figures: LaunchFigures, _ page: inout Markup) {
        let phases = figures.recording.phases
        guard !phases.isEmpty else { return }
        let length = figures.drawnLength
        func place(_ time: Duration) -> Int { LaunchFigures.tenths(time, of: length) * 10 }
        page.raw("<section aria-labelledby=\"phases\">\n<h2 id=\"phases\">Phases</h2>\n<figure>\n")
        page.raw("<svg class=\"bar\" width=\"100%\" height=\"26\" aria-hidden=\"true\">")
        for phase in phases where phase.end > phase.begin {
            rectangle(
                phase.kind.style, from: place(phase.begin), to: max(place(phase.end), place(phase.begin) + 4),
                height: 26, &page)
        }
        page.raw("</svg>\n<figcaption class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table of phases\">")
        page.raw("<table class=\"figures\">\n<thead><tr><th>phase</th><th>from</th><th>wall</th><th>share</th>")
        page.raw("<th>on CPU</th><th>waiting</th><th>blocked</th></tr></thead>\n<tbody>\n")
        for phase in phases {
            page.raw("<tr><th scope=\"row\">")
            page.begin("span", class: "key \(phase.kind.style)")
            page.raw("</span>")
            page.text(phase.kind.title + (phase.isComplete ? "" : ", not finished"))
            page.raw("</th>")
            let times = [phase.time?.running, phase.time?.waiting, phase.time?.blocked]
            let cells =
                [phase.begin.brief, phase.ownWall.brief, LaunchFigures.percent(phase.ownWall, of: figures.length)]
                + times.map { $0.map { $0 == .zero ? "0" : $0.brief } ?? "–" }
            for cell in cells { page.element("td", cell) }
            page.raw("</tr>\n")
        }
        page.raw("</tbody></table></figcaption>\n</figure>\n")
        if let note = figures.recorderNote {
            page.element("p", note.capitalizingFirst + ".", class: "quiet")
        }
        page.raw("</section>\n")
    }

    /// The place in which the script draws.
    static func lanes(_ figures: LaunchFigures, _ data: LaunchPageData, _ page: inout Markup) {
        guard figures.hasSpans else { return }
        let count = figures.drawnLanes.count
        page.raw("<section aria-labelledby=\"threads\">\n<h2 id=\"threads\">")
        page.text(count.counted("thread"))
        page.raw("</h2>\n<p class=\"legend\">")
        for state in LaneSpan.State.allCases {
            page.raw("<span class=\"pair\">")
            page.begin("span", class: "key \(state.style)")
            page.raw("</span>")
            page.text(state.title)
            page.raw("</span> ")
        }
        page.raw("<span class=\"pair\"><span class=\"key waker\"></span>woken by</span> ")
        page.raw("<span class=\"pair\"><span class=\"key over\"></span>end of the launch</span></p>\n")
        page.raw("<p id=\"controls\" class=\"controls\" hidden><button type=\"button\" id=\"in\">Zoom in</button> ")
        page.raw(
            "<button type=\"button\" id=\"out\">Zoom out</button> <button type=\"button\" id=\"all\">All</button> ")
        page.raw(
            "<button type=\"button\" id=\"next\">Next longest block</button> <span id=\"range\" class=\"quiet\"></span></p>\n"
        )
        page.raw(
            "<noscript><p>Without its script, this page draws no lanes; the table of threads has their sums.</p></noscript>\n"
        )
        page.raw(
            "<div id=\"lanes\" class=\"lanes\" tabindex=\"0\" role=\"application\" aria-label=\"Lanes of threads\" ")
        page.raw(
            "aria-describedby=\"keys\"><div class=\"pane\"><canvas id=\"canvas\"></canvas><canvas id=\"over\"></canvas>"
        )
        page.raw("<div id=\"tip\" class=\"tip\" hidden></div></div><div id=\"space\"></div></div>\n")
        page.raw("<p id=\"said\" class=\"said\" aria-live=\"polite\"></p>\n<p id=\"keys\" class=\"quiet\">")
        page.raw(
            "Ctrl and wheel, + and -: zoom. Drag, Shift and wheel, a and d: move. Arrows: go from state to state. ")
        page.raw("n and p: the main thread&#39;s longest blocks. Enter: zoom to it. 0: everything.")
        if data.resolution > 0 {
            page.text(" Neighbors shorter than \(Duration.microseconds(data.resolution).brief) are drawn as one.")
        }
        page.raw("</p>\n</section>\n")
    }

    /// On what the main thread waited.
    static func blocks(_ figures: LaunchFigures, _ page: inout Markup) {
        guard let main = figures.main else { return }
        let groups = BlockGroup.grouping(figures.blocks(of: main)).prefix(10)
        guard !groups.isEmpty else { return }
        page.raw(
            "<section aria-labelledby=\"blocks\">\n<h2 id=\"blocks\">Longest blocks of the main thread</h2>\n<ol class=\"plain\">\n"
        )
        for group in groups {
            page.raw("<li>")
            page.text("main \(group.words)")
            if let account = figures.accountOfWaker(during: group.longest) {
                page.raw("<br>")
                page.element("span", account, class: "quiet")
            }
            page.raw("</li>\n")
        }
        page.raw("</ol>\n</section>\n")
    }

    static func advice(_ figures: LaunchFigures, _ page: inout Markup) {
        let advice = LaunchAdvice.all(figures)
        page.raw("<section aria-labelledby=\"todo\">\n<h2 id=\"todo\">What to do</h2>\n")
        if advice.isEmpty {
            page.raw("<p>Nothing in this recording stands out.</p>\n")
        } else {
            page.raw("<ul class=\"plain\">\n")
            for item in advice { page.element("li", item.sentence) }
            page.raw("</ul>\n")
        }
        page.raw("</section>\n")
    }
}

extension LaunchPhase.Kind {
    /// The class of its color: before `main`, from there to the end of the launch, and after it.
    var style: String {
        switch self {
        case .request, .linkerStart, .relocation, .ownConstructors: "early"
        case .exec, .mapping, .libraryConstructors: "early other"
        case .main: "middle"
        case .application: "middle other"
        case .untilUseful: "late"
        case .extended: "late other"
        }
    }
}

extension LaneSpan.State {
    /// The class of its color.
    var style: String { self == .blockedOrRunnable ? "maybe" : rawValue }
}
