// SPDX-License-Identifier: Apache-2.0

/// The moments of an incident, in seconds from the start of the allowance.
struct Timeline: Equatable {
    struct Moment: Equatable {
        let name: String
        let nanoseconds: Int64
    }

    /// In order; the first may be left of the drawing's scale.
    let moments: [Moment]
    /// The allowance with all that was added to it.
    let allowance: Int64
    let elapsed: Int64
    /// Whether the first moment is too early to be drawn to scale.
    let isCut: Bool

    /// From this many times the incident's own length on, the launch is not drawn to scale.
    private static let longest: Int64 = 4

    /// Nil without the allowance of a Linux report.
    init?(_ body: ReportBody) {
        guard let linux = body.linux, linux.crash == nil, linux.allowance.elapsedNanoseconds > 0 else { return nil }
        // Numbers from a file: none may overflow what is computed from them.
        func bounded(_ value: Int64) -> Int64 { min(max(value, 0), 1 << 60) }
        let details = linux.allowance
        let elapsed = bounded(details.elapsedNanoseconds)
        let parts = [
            details.nanoseconds, details.creditNanoseconds, details.extendedNanoseconds, details.pausedNanoseconds,
        ]
        let allowance = parts.reduce(Int64(0)) { bounded($0 + bounded($1)) }
        var moments: [Moment] = []
        if let start = body.procStartAbsTime, let end = body.procExitAbsTime, start >= 0, end >= start {
            moments.append(Moment(name: "launch", nanoseconds: min(elapsed - bounded(end - start), 0)))
        }
        moments.append(Moment(name: "allowance starts", nanoseconds: 0))
        if let ping = linux.pings?.sinceLastAnswerNanoseconds {
            moments.append(Moment(name: "last answer of the main loop", nanoseconds: elapsed - bounded(ping)))
        }
        if ["wall-clock", "termination", "background-task"].contains(details.kind) {
            moments.append(Moment(name: "deadline", nanoseconds: min(allowance, elapsed)))
        }
        moments.append(Moment(name: "last look at the process", nanoseconds: elapsed))
        if let kill = linux.kill.nanoseconds {
            moments.append(Moment(name: "every process gone", nanoseconds: elapsed + bounded(kill)))
        }
        // Sorting is not stable, and equal times keep the order of what happens.
        let sorted = moments.enumerated().sorted {
            ($0.element.nanoseconds, $0.offset) < ($1.element.nanoseconds, $1.offset)
        }
        self.moments = sorted.map(\.element)
        self.allowance = allowance
        self.elapsed = elapsed
        isCut = (self.moments.first?.nanoseconds ?? 0) < -Self.longest * elapsed
    }

    /// Where a moment is drawn, in hundredths of a percent of the width.
    func position(_ nanoseconds: Int64) -> Int {
        let drawn = moments.map(\.nanoseconds).filter { !isCut || $0 >= -Self.longest * elapsed }
        let low = min(drawn.min() ?? 0, 0)
        let high = max(drawn.max() ?? elapsed, elapsed)
        guard nanoseconds >= low else { return 300 }
        let left: Double = isCut ? 1_800 : 300
        let share = Double(nanoseconds - low) / Double(max(high - low, 1))
        return Int((left + share * (9_700 - left)).rounded())
    }

    /// A drawing whose text keeps its size on every width: positions are percentages, moments are numbers that the
    /// list beside it explains.
    var drawing: Markup {
        var levels: [Int] = []
        var ends: [Int] = []
        for moment in moments {
            let place = position(moment.nanoseconds)
            // A number takes about 7 % of a phone's width.
            let level = ends.firstIndex { place - $0 >= 750 } ?? ends.count
            if level == ends.count { ends.append(place) } else { ends[level] = place }
            levels.append(level)
        }
        let height = 62 + 26 * max(0, ends.count - 1)
        var svg = Markup()
        svg.tag(
            "svg", ["class": "timeline", "role": "img", "width": "100%", "height": "\(height)", "aria-label": words])
        svg.tag("line", ["class": "axis", "x1": "1%", "x2": "99%", "y1": "23", "y2": "23"])
        svg.raw("</line>")
        let start = position(0)
        let deadline = position(min(allowance, elapsed))
        let end = position(elapsed)
        bar("allowed", from: start, to: deadline, &svg)
        if end > deadline { bar("over", from: deadline, to: end, &svg) }
        if isCut {
            svg.tag("text", ["class": "cut", "x": "10%", "y": "28", "text-anchor": "middle"])
            svg.raw("//</text>")
        }
        let places = zip(moments, levels).map { moment, level in
            (x: Self.percent(position(moment.nanoseconds)), y: 48 + 26 * level)
        }
        for place in places {
            svg.tag("line", ["class": "tick", "x1": place.x, "x2": place.x, "y1": "8", "y2": "\(place.y - 10)"])
            svg.raw("</line>")
        }
        // Later elements cover earlier ones: numbers stand above the lines of other moments.
        for (index, place) in places.enumerated() {
            svg.tag("circle", ["cx": place.x, "cy": "\(place.y)", "r": "10"])
            svg.raw("</circle>")
            svg.tag("text", ["x": place.x, "y": "\(place.y + 4)", "text-anchor": "middle"])
            svg.text(String(index + 1))
            svg.raw("</text>")
        }
        svg.close("svg")
        return svg
    }

    private func bar(_ style: String, from: Int, to: Int, _ svg: inout Markup) {
        let width = Self.percent(max(to - from, 0))
        svg.tag("rect", ["class": style, "x": Self.percent(from), "width": width, "y": "14", "height": "18"])
        svg.raw("</rect>")
    }

    private static func percent(_ hundredths: Int) -> String { "\(hundredths / 100).\((hundredths % 100).padded(2))%" }

    /// `+2.00 s`, from the start of the allowance.
    static func offset(_ nanoseconds: Int64) -> String {
        let span = Duration.nanoseconds(nanoseconds)
        let text = span.seconds(fractionDigits: nanoseconds.magnitude < 10_000_000_000 ? 3 : 2)
        return (nanoseconds < 0 ? "" : "+") + text + " s"
    }

    private var words: String {
        "Timeline: " + moments.map { "\($0.name) \(Self.offset($0.nanoseconds))" }.joined(separator: ", ")
    }
}
