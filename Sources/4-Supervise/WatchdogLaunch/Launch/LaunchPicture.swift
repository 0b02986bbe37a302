// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
import WatchdogReport

/// A launch drawn as bars on a time axis: the main thread first, everything else below, compared with the goals.
///
/// A launch that was killed, or ended before it was ready, is drawn up to its end.
///
/// Pure: the same launch gives the same lines.
package struct LaunchPicture {
    /// One interval or event.
    package struct Bar: Hashable {
        let label: String
        let lane: Lane
        /// Counted from the launch.
        let start: Duration
        /// Nil for an event without a duration.
        let end: Duration?
        /// Whether it was still running when the launch was over.
        let isOpen: Bool
    }

    /// Where an interval is drawn.
    package enum Lane: String, Hashable, CaseIterable {
        /// What the kernel recorded of the program's start.
        case start
        case main
        case beside
        /// The tasks that extend the launch.
        case tasks
    }

    /// How a launch ended.
    package enum End: Hashable {
        case ready
        /// The watchdog killed it before it was ready.
        case killed
        /// The process ended before it was ready.
        case ended
    }

    /// The first frame within 0.4 s: Apple, "Optimizing App Launch", WWDC 2019.
    static let goal: Duration = .milliseconds(400)
    /// Ready within five seconds: Apple, "iOS App Performance: Responsiveness", WWDC 2012.
    package static let advice: Duration = .seconds(5)
    /// The limit of bars drawn; the rest is counted.
    package static let most = 40

    package var name: String
    package var end: End
    /// From the launch to its end.
    package var duration: Duration
    package var firstFrame: Duration?
    /// Until the app reported that it does what it was launched for.
    package var useful: Duration?
    package var limit: Duration
    var bars: [Bar]
    /// The number of lost marks.
    package var lost: Int
    /// The percentage of the launch in which the main thread neither ran nor waited for a CPU.
    var blockedPercent: Int?
    /// Whether characters beyond ASCII may be used.
    package var isUnicode: Bool

    package init(
        name: String, end: End, duration: Duration, firstFrame: Duration? = nil, useful: Duration? = nil,
        limit: Duration, bars: [Bar], lost: Int, blockedPercent: Int? = nil, isUnicode: Bool
    ) {
        self.name = name
        self.end = end
        self.duration = duration
        self.firstFrame = firstFrame
        self.useful = useful
        self.limit = limit
        self.bars = bars
        self.lost = lost
        self.blockedPercent = blockedPercent
        self.isUnicode = isUnicode
    }

    private static let laneWidth = 7
    private static let chartAndLabelWidth = 60
    private static let timeWidth = 9

    /// The phases of the start have their whole names; an app's own labels are cut.
    private var labelWidth: Int {
        min(20, max(14, bars.filter { $0.lane == .start }.map(\.label.count).max() ?? 0))
    }
    private var chartWidth: Int { Self.chartAndLabelWidth - labelWidth }

    /// Lines of at most 80 columns, each with a newline.
    package var text: String {
        var lines = [heading, scale]
        for lane in Lane.allCases {
            let bars = bars.filter { $0.lane == lane }
            lines += bars.prefix(Self.most).enumerated().map { line($1, lane: $0 > 0 ? "" : lane.rawValue) }
            if bars.count > Self.most { lines.append("      and \(bars.count - Self.most) more") }
        }
        if bars.allSatisfy({ $0.lane == .start }) {
            lines.append("      the app has marked nothing (Signposter marks intervals)")
        }
        if lost > 0 { lines.append("      \(lost.counted("mark is", "marks are")) missing") }
        lines += verdicts
        return lines.joined(separator: "\n") + "\n"
    }

    private var whole: Duration {
        max(
            duration, firstFrame ?? .zero, bars.filter { $0.start <= duration }.compactMap(\.end).max() ?? .zero,
            .microseconds(1))
    }

    private var heading: String {
        let frame = firstFrame.map { ", first frame after \($0.brief)" } ?? ""
        let name = name.count > 20 ? name.prefix(19) + (isUnicode ? "…" : "~") : name[...]
        let end =
            switch end {
            case .ready: "ready"
            case .killed: "killed"
            case .ended: "ended"
            }
        let time = duration > .zero ? "after \(ascii(duration.brief))" : "at once"
        return "launch of \(name): \(end) \(time)\(ascii(frame))"
    }

    private var scale: String {
        let end = ascii(whole.brief)
        let blanks = String(repeating: " ", count: max(1, chartWidth - 1 - end.count))
        return String(repeating: " ", count: Self.laneWidth + labelWidth + 1) + "0" + blanks + end
    }

    private func column(_ time: Duration) -> Int {
        let share = Double(max(.zero, time).nanoseconds) / Double(whole.nanoseconds)
        return min(chartWidth, max(0, Int((share * Double(chartWidth)).rounded())))
    }

    private func line(_ bar: Bar, lane: String) -> String {
        let room = labelWidth
        let label = bar.label.count > room ? bar.label.prefix(room - 1) + (isUnicode ? "…" : "~") : bar.label[...]
        let safe = isUnicode ? String(label) : String(label.map { $0.isASCII ? $0 : "?" })
        let left = pad(lane, Self.laneWidth) + pad(safe, room) + " "
        let start = min(column(bar.start), chartWidth - 1)
        let before = String(repeating: " ", count: start)
        guard let end = bar.end else {
            return left + before + (isUnicode ? "◆" : "*")
        }
        let length = max(1, column(end) - start)
        let full = String(
            repeating: isUnicode ? (bar.lane == .main ? "█" : "▒") : (bar.lane == .main ? "#" : "="), count: length)
        let tail = bar.isOpen ? (isUnicode ? "▸" : ">") : ""
        let time = ascii((end - bar.start).brief)
        let gap = String(
            repeating: " ", count: max(1, chartWidth - start - length - tail.count + Self.timeWidth - time.count))
        return left + before + full + tail + gap + time
    }

    /// How the launch compares with the goal, the advice and the limit.
    private var verdicts: [String] {
        var lines: [String] = []
        if let useful { lines.append("  useful after \(ascii(useful.brief))") }
        guard end == .ready else {
            lines.append("  \(pad("limit", 7))\(pad(ascii(TimeSpan.text(limit)), 8))not ready before the end")
            return lines
        }
        // The goal and the advice are for apps with a screen.
        if let firstFrame {
            lines += [
                verdict("goal", Self.goal, firstFrame, "first frame"),
                verdict("advice", Self.advice, duration, "ready"),
            ]
        }
        lines.append(verdict("limit", limit, duration, "ready"))
        return lines + (blockedPercent.map { ["  main thread blocked for \($0) % of the launch"] } ?? [])
    }

    private func verdict(_ name: String, _ bound: Duration, _ time: Duration, _ what: String) -> String {
        let percent = Int((Double(time.nanoseconds) / Double(max(1, bound.nanoseconds)) * 100).rounded())
        let outcome = time <= bound ? "met" : "missed by \(ascii((time - bound).brief))"
        return "  \(pad(name, 7))\(pad(ascii(TimeSpan.text(bound)), 8))\(what) took \(percent) % of it, \(outcome)"
    }

    private func ascii(_ text: String) -> String { isUnicode ? text : text.replacing("µ", with: "u") }

    private func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}

extension LaunchPicture {
    /// The picture of a launch that is over.
    ///
    /// - Parameter duration: from `execve` to the launch's end.
    package init(
        name: String, launchedAt: Instant, _ end: End = .ready, after duration: Duration, limit: Duration,
        trace: LaunchTrace, blockedPercent: Int?, isUnicode: Bool
    ) {
        let over = launchedAt + duration
        let intervals = trace.intervals.filter { $0.start <= over }.map { interval -> Bar in
            // The times come from the app: nothing began before it was launched.
            let start = max(.zero, interval.start - launchedAt)
            let finish = interval.isEvent ? nil : max(start, (interval.end ?? over) - launchedAt)
            return Bar(
                label: interval.name, lane: interval.isOnMainThread ? .main : .beside, start: start, end: finish,
                isOpen: !interval.isEvent && interval.end == nil)
        }
        let tasks = trace.tasks.map { task in
            let start = max(.zero, task.start - launchedAt)
            return Bar(
                label: task.name, lane: .tasks, start: start, end: max(start, (task.end ?? over) - launchedAt),
                isOpen: task.end == nil)
        }
        let start = LaunchPhases(trace, launchedAt: launchedAt, until: over, isReady: end == .ready).phases
        let phases = start.filter(\.isActivity).map { phase in
            let begin = max(.zero, Duration.nanoseconds(phase.startNanoseconds))
            return Bar(
                label: phase.title, lane: .start, start: begin, end: begin + .nanoseconds(phase.nanoseconds),
                isOpen: phase.isOpen)
        }
        self.init(
            name: name, end: end, duration: duration,
            firstFrame: trace.firstFrame.map { max(.zero, $0 - launchedAt) },
            useful: trace.useful.map { max(.zero, $0 - launchedAt) }, limit: limit,
            bars: phases + intervals.sorted { ($0.start, $0.label) < ($1.start, $1.label) } + tasks, lost: trace.lost,
            blockedPercent: blockedPercent, isUnicode: isUnicode)
    }
}
