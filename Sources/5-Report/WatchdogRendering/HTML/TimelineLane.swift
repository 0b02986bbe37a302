// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogReport
import WatchdogVerdict

/// One row of a timeline, showing what lasted.
struct TimelineLane: Equatable {
    /// What a bar stands for; the page's style sheet has a color for each.
    enum Style: String, CaseIterable {
        case allowed
        case credit
        case extended
        case paused
        case over
        case running
        case waiting
        case asleep
        case runnable
        case uninterruptible
        case stopped

        /// The text in the legend.
        var words: String {
            switch self {
            case .allowed: "allowance"
            case .credit: "credit for waiting for a CPU"
            case .extended: "extension"
            case .paused: "clock stood still"
            case .over: "beyond the deadline"
            case .running: "running"
            case .waiting: "waiting for CPU"
            case .asleep: "asleep"
            case .runnable: "runnable: on a CPU or waiting for one"
            case .uninterruptible: "asleep where no signal reaches it"
            case .stopped: "stopped or ended"
            }
        }
    }

    struct Bar: Equatable {
        let from: Int64
        let to: Int64
        let style: Style
        /// The vertical part of the lane that the bar covers, in thousandths from the top.
        var height = 0..<1_000
        var label: String?
    }

    /// A ping or an answer.
    struct Dot: Equatable {
        let at: Int64
        /// Filled for an answer, empty for a ping.
        let isFilled: Bool
    }

    /// Connects a ping with its answer or with the end.
    struct Link: Equatable {
        let from: Int64
        let to: Int64
        let isAnswered: Bool
    }

    var title: String
    var bars: [Bar] = []
    var dots: [Dot] = []
    var links: [Link] = []

    /// A letter for a stack; nil beyond the alphabet.
    static func letter(_ index: Int) -> String? {
        (0..<26).contains(index) ? String(UnicodeScalar(UInt8(ascii: "A") + UInt8(index))) : nil
    }
}

extension TimelineLane {
    /// A lane with the last ping and the last answer.
    init?(pings: PingSummary?, elapsed: Int64) {
        guard let pings else { return nil }
        func moment(_ since: Int64?) -> Int64? { since.map { elapsed - Timeline.bounded($0) } }
        let answer = moment(pings.sinceLastAnswerNanoseconds)
        let ping = pings.sent > 0 ? moment(pings.sinceLastPingNanoseconds) : nil
        self.init(
            title: pings.sent > 0
                ? "Pings: \(pings.sent) sent, \(pings.answered) answered" : "Signs of life: \(pings.answered)")
        if let ping {
            dots.append(Dot(at: ping, isFilled: false))
            if let answer, answer >= ping {
                links.append(Link(from: ping, to: answer, isAnswered: true))
            } else {
                links.append(Link(from: ping, to: elapsed, isAnswered: false))
                title += ", the last one not"
            }
        }
        if let answer { dots.append(Dot(at: answer, isFilled: true)) }
        guard !dots.isEmpty else { return nil }
    }

    /// A lane with the probes that failed, each from its start to its end.
    init?(probes missed: MissedDetails?, elapsed: Int64) {
        guard let missed, let failures = missed.failures, !failures.isEmpty else { return nil }
        let count = max(missed.count ?? 0, failures.count)
        self.init(title: "Probes of \(missed.target.singleLine(limit: 48)): \(count) failed")
        for failure in failures.suffix(MissedDetails.mostFailures) {
            let start = elapsed - min(Timeline.bounded(failure.sinceNanoseconds), elapsed)
            let end = min(Timeline.bounded(start + Timeline.bounded(failure.durationNanoseconds)), elapsed)
            dots.append(Dot(at: start, isFilled: false))
            links.append(Link(from: start, to: end, isAnswered: false))
        }
    }

    /// A lane with the shares of the window, from the kernel's counters: how much of each, not when.
    init?(averageOf linux: LinuxDetails, elapsed: Int64) {
        guard let running = linux.verdict.runningTenths, let waiting = linux.verdict.waitingTenths,
            let text = linux.evidence.first(where: { $0.what == "window" })?.value.split(separator: " ").first,
            let seconds = Double(text), seconds > 0, seconds < 1e9
        else { return nil }
        let window = Int64(seconds * 1e9)
        self.init(title: "Main thread, on average over \(Timeline.span(window))")
        let run = min(max(running, 0), 1_000)
        let wait = min(max(waiting, 0), 1_000 - run)
        var top = 0
        for (share, style) in [(run, Style.running), (wait, .waiting), (1_000 - run - wait, .asleep)] where share > 0 {
            bars.append(Bar(from: elapsed - window, to: elapsed, style: style, height: top..<top + share))
            top += share
        }
    }

    /// A lane with what each sample showed; its bar extends halfway to the samples before and after.
    init?(looks: SampleDetails, elapsed: Int64) {
        guard let spans = looks.spans, let stacks = looks.stacks, let began = looks.beganNanoseconds,
            looks.intervalNanoseconds > 0, !spans.isEmpty
        else { return nil }
        let interval = Timeline.bounded(looks.intervalNanoseconds)
        let times = looks.looks == 1 ? "at one sample" : "at \(looks.looks) samples, \(Timeline.span(interval)) apart"
        self.init(title: "Main thread, \(times)")
        func instant(_ look: Int) -> Int64 {
            let (distance, overflow) = interval.multipliedReportingOverflow(by: Timeline.bounded(Int64(look)))
            return overflow ? elapsed : Timeline.bounded(Timeline.bounded(began) + Timeline.bounded(distance))
        }
        for span in spans where span.first >= 0 && span.count > 0 && stacks.indices.contains(span.stack) {
            let last = span.first.addingReportingOverflow(span.count - 1).partialValue
            let from = max(instant(span.first) - interval / 2, 0)
            let to = min(instant(max(last, span.first)) + interval / 2, elapsed)
            guard from < to else { continue }
            bars.append(
                Bar(from: from, to: to, style: Self.style(stacks[span.stack].state), label: Self.letter(span.stack)))
        }
        guard !bars.isEmpty else { return nil }
    }

    private static func style(_ state: String) -> Style {
        switch state {
        case "R": .runnable
        case "D": .uninterruptible
        case "T", "t", "Z", "X", "x": .stopped
        default: .asleep
        }
    }
}
