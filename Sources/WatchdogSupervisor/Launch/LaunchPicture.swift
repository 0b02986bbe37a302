// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy

/// A launch as bars of time: the main lane first, what went on beside it below, against the goals.
///
/// Pure: the same launch gives the same lines.
struct LaunchPicture {
    /// What is drawn.
    struct Bar: Hashable {
        let label: String
        let isOnMainThread: Bool
        /// From the launch on.
        let start: Duration
        /// Nil for a moment.
        let end: Duration?
        /// Whether it had not ended when the launch had.
        let isOpen: Bool
    }

    /// The first frame within 0.4 s: Apple, "Optimizing App Launch", WWDC 2019.
    static let goal: Duration = .milliseconds(400)
    /// Ready within five seconds: Apple, "iOS App Performance: Responsiveness", WWDC 2012.
    static let advice: Duration = .seconds(5)
    /// Bars that are drawn; the rest is counted.
    static let most = 40

    var name: String
    var ready: Duration
    var firstFrame: Duration?
    var limit: Duration
    var bars: [Bar]
    /// Marks that are missing.
    var lost: Int
    /// The main thread's part of the launch in which it neither ran nor wanted a CPU, in percent.
    var blockedPercent: Int?
    /// Whether anything but ASCII may be used.
    var isUnicode: Bool

    private static let labelWidth = 22
    private static let chartWidth = 46
    private static let timeWidth = 9

    /// Lines of at most 80 columns, each ended.
    var text: String {
        var lines = [heading, scale]
        for isMain in [true, false] {
            let lane = bars.filter { $0.isOnMainThread == isMain }
            lines += lane.prefix(Self.most).enumerated().map {
                line($1, lane: $0 > 0 ? "" : isMain ? "main" : "beside")
            }
            if lane.count > Self.most { lines.append("      and \(lane.count - Self.most) more") }
        }
        if bars.isEmpty { lines.append("      the app has marked nothing (Signposter marks intervals)") }
        if lost > 0 { lines.append("      \(lost) marks are missing") }
        lines += verdicts
        return lines.joined(separator: "\n") + "\n"
    }

    private var whole: Duration {
        max(
            ready, firstFrame ?? .zero, bars.filter { $0.start <= ready }.compactMap(\.end).max() ?? .zero,
            .microseconds(1))
    }

    private var heading: String {
        let frame = firstFrame.map { ", first frame after \($0.brief)" } ?? ""
        let name = name.count > 20 ? name.prefix(19) + (isUnicode ? "…" : "~") : name[...]
        return "launch of \(name): ready after \(ascii(ready.brief))\(ascii(frame))"
    }

    private var scale: String {
        let end = ascii(whole.brief)
        let blanks = String(repeating: " ", count: max(1, Self.chartWidth - 1 - end.count))
        return String(repeating: " ", count: Self.labelWidth) + "0" + blanks + end
    }

    private func column(_ time: Duration) -> Int {
        let share = Double(max(.zero, time).nanoseconds) / Double(whole.nanoseconds)
        return min(Self.chartWidth, max(0, Int((share * Double(Self.chartWidth)).rounded())))
    }

    private func line(_ bar: Bar, lane: String) -> String {
        let laneWidth = 7
        let room = Self.labelWidth - laneWidth - 1
        let label = bar.label.count > room ? bar.label.prefix(room - 1) + (isUnicode ? "…" : "~") : bar.label[...]
        let safe = isUnicode ? String(label) : String(label.map { $0.isASCII ? $0 : "?" })
        let left = pad(lane, laneWidth) + pad(safe, room) + " "
        let start = min(column(bar.start), Self.chartWidth - 1)
        let before = String(repeating: " ", count: start)
        guard let end = bar.end else {
            return left + before + (isUnicode ? "◆" : "*")
        }
        let length = max(1, column(end) - start)
        let full = String(
            repeating: isUnicode ? (bar.isOnMainThread ? "█" : "▒") : (bar.isOnMainThread ? "#" : "="), count: length)
        let tail = bar.isOpen ? (isUnicode ? "▸" : ">") : ""
        let time = ascii((end - bar.start).brief)
        let gap = String(
            repeating: " ", count: max(1, Self.chartWidth - start - length - tail.count + Self.timeWidth - time.count))
        return left + before + full + tail + gap + time
    }

    /// How the launch stands to the goal, the advice and the limit.
    private var verdicts: [String] {
        let first = firstFrame ?? ready
        return [
            verdict("goal", Self.goal, first, firstFrame == nil ? "ready" : "first frame"),
            verdict("advice", Self.advice, ready, "ready"), verdict("limit", limit, ready, "ready"),
        ] + (blockedPercent.map { ["  main thread blocked for \($0) % of the launch"] } ?? [])
    }

    private func verdict(_ name: String, _ bound: Duration, _ time: Duration, _ what: String) -> String {
        let percent = Int((Double(time.nanoseconds) / Double(max(1, bound.nanoseconds)) * 100).rounded())
        let outcome = time <= bound ? "met" : "missed by \(ascii((time - bound).brief))"
        return "  \(pad(name, 7))\(pad(ascii(bound.brief), 8))\(what) took \(percent) % of it, \(outcome)"
    }

    private func ascii(_ text: String) -> String { isUnicode ? text : text.replacing("µ", with: "u") }

    private func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}

extension LaunchPicture {
    /// The picture of a launch that is over.
    init(
        name: String, launchedAt: Instant, ready: Duration, limit: Duration, trace: LaunchTrace, blockedPercent: Int?,
        isUnicode: Bool
    ) {
        let end = launchedAt + ready
        let bars = trace.intervals.filter { $0.start <= end }.map { interval -> Bar in
            // An app may say what it likes: nothing began before it was launched.
            let start = max(.zero, interval.start - launchedAt)
            let finish = interval.isEvent ? nil : max(start, (interval.end ?? end) - launchedAt)
            return Bar(
                label: interval.name, isOnMainThread: interval.isOnMainThread, start: start, end: finish,
                isOpen: !interval.isEvent && interval.end == nil)
        }
        self.init(
            name: name, ready: ready, firstFrame: trace.firstFrame.map { max(.zero, $0 - launchedAt) }, limit: limit,
            bars: bars.sorted { ($0.start, $0.label) < ($1.start, $1.label) }, lost: trace.lost,
            blockedPercent: blockedPercent, isUnicode: isUnicode)
    }
}
