// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogReport
import WatchdogVerdict

/// An incident over time: its moments, and in lanes what lasted.
///
/// All times count from the start of the allowance. Everything comes from numbers in the report; what the report lacks
/// has no lane.
struct Timeline: Equatable {
    struct Moment: Equatable {
        let name: String
        let nanoseconds: Int64
    }

    /// In chronological order; the first may lie to the left of the scale.
    private(set) var moments: [Moment] = []
    private(set) var lanes: [TimelineLane] = []
    /// The allowance, including everything that was added to it.
    let allowance: Int64
    let elapsed: Int64
    /// What the samples of the main thread showed, in words.
    private(set) var looks: [String] = []

    /// The margins to the left and right of the scale, in hundredths of a percent of the width.
    private static let margin = 300
    /// The left margin when some moments are too early for the scale.
    private static let marginWhenCut = 1_400

    /// Nil unless a Linux report has an allowance; a crash has none.
    init?(_ body: ReportBody) {
        guard let linux = body.linux, linux.crash == nil, linux.kind != .crash, linux.allowance.elapsedNanoseconds > 0
        else { return nil }
        let details = linux.allowance
        elapsed = Self.bounded(details.elapsedNanoseconds)
        let parts = [
            details.nanoseconds, details.creditNanoseconds, details.extendedNanoseconds, details.pausedNanoseconds,
        ]
        allowance = parts.reduce(Int64(0)) { Self.bounded($0 + Self.bounded($1)) }
        moments = moments(body, linux)
        lanes =
            [
                allowanceLane(linux), TimelineLane(pings: linux.pings, elapsed: elapsed),
                TimelineLane(probes: linux.missed, elapsed: elapsed),
                TimelineLane(averageOf: linux, elapsed: elapsed),
                linux.samples.flatMap { TimelineLane(looks: $0, elapsed: elapsed) },
            ].compactMap(\.self)
        looks = linux.samples.map { Self.words(looks: $0) } ?? []
    }

    /// Limits numbers from a file, so that calculations with them cannot overflow.
    static func bounded(_ value: Int64) -> Int64 { min(max(value, 0), 1 << 60) }

    private func moments(_ body: ReportBody, _ linux: LinuxDetails) -> [Moment] {
        var moments: [Moment] = []
        if let start = body.procStartAbsTime, let end = body.procExitAbsTime, start >= 0, end >= start {
            moments.append(Moment(name: "launch", nanoseconds: min(elapsed - Self.bounded(end - start), 0)))
        }
        moments.append(Moment(name: "allowance starts", nanoseconds: 0))
        if let answer = linux.pings?.sinceLastAnswerNanoseconds, linux.kind != .hang {
            let name = linux.pings?.sent == 0 ? "last sign of life" : "last answer of the main loop"
            moments.append(Moment(name: name, nanoseconds: elapsed - Self.bounded(answer)))
        }
        moments += probes(linux.missed)
        if let began = linux.samples?.beganNanoseconds ?? linux.stages?.firstNanoseconds {
            let name = "first sample of the main thread"
            moments.append(Moment(name: name, nanoseconds: min(Self.bounded(began), elapsed)))
        }
        if Self.hasDeadline(linux), linux.kind == .watchdog || linux.kind == nil {
            moments.append(Moment(name: "deadline", nanoseconds: min(allowance, elapsed)))
        }
        if linux.kind == .hang {
            moments.append(Moment(name: "the main loop answers again", nanoseconds: elapsed))
        } else {
            let frozen = Self.bounded(Int64(clamping: linux.capture?.frozenNanoseconds ?? 0))
            let stop = frozen > 0 ? ", stopped for \(Self.span(frozen))" : ""
            moments.append(Moment(name: "last sample of all threads\(stop)", nanoseconds: elapsed))
        }
        if let launch = moments.first?.nanoseconds, moments.first?.name == "launch" {
            for state in (linux.lifecycle?.history ?? []).suffix(6) where state.state != "launching" {
                let at = launch + Self.bounded(state.nanoseconds)
                if at >= earliest, at <= elapsed {
                    moments.append(Moment(name: "the app is in the state \(state.state)", nanoseconds: at))
                }
            }
        }
        if let kill = linux.kill.nanoseconds {
            moments.append(Moment(name: "every process gone", nanoseconds: elapsed + Self.bounded(kill)))
        }
        // Sorting is not stable, but moments at the same time must keep their order.
        let sorted = moments.enumerated().sorted {
            ($0.element.nanoseconds, $0.offset) < ($1.element.nanoseconds, $1.offset)
        }
        return sorted.map(\.element)
    }

    /// The first and the last probe that failed; the lane shows all of them.
    private func probes(_ missed: MissedDetails?) -> [Moment] {
        let failures = missed?.failures ?? []
        let names = failures.count > 1 ? ["first failed probe", "last failed probe"] : ["failed probe"]
        return zip(names, [failures.first, failures.last]).compactMap { name, failure in
            failure.map {
                let reason = $0.reason ?? "no answer in \(Self.span(Self.bounded($0.durationNanoseconds)))"
                return Moment(
                    name: "\(name): \(reason.singleLine(limit: 80))",
                    nanoseconds: elapsed - min(Self.bounded($0.sinceNanoseconds), elapsed))
            }
        }
    }

    /// Whether the allowance that ran out was wall-clock time.
    private static func hasDeadline(_ linux: LinuxDetails) -> Bool {
        ["wall-clock", "termination", "background-task"].contains(linux.allowance.kind)
    }

    private func allowanceLane(_ linux: LinuxDetails) -> TimelineLane? {
        let details = linux.allowance
        let given = Self.span(details.nanoseconds)
        if details.kind == "cpu-time" {
            let bar = TimelineLane.Bar(from: 0, to: elapsed, style: .allowed)
            return TimelineLane(title: "Allowance: \(given) of CPU time", bars: [bar])
        }
        guard Self.hasDeadline(linux), linux.kind != .capture else { return nil }
        var lane = TimelineLane(title: "Allowance: \(given)")
        var end: Int64 = 0
        for (nanoseconds, style) in [
            (details.nanoseconds, TimelineLane.Style.allowed), (details.creditNanoseconds, .credit),
            (details.extendedNanoseconds, .extended), (details.pausedNanoseconds, .paused),
        ] where nanoseconds > 0 {
            let start = end
            end = Self.bounded(end + Self.bounded(nanoseconds))
            if style != .allowed { lane.title += " + \(Self.span(nanoseconds))" }
            guard start < elapsed else { continue }
            lane.bars.append(TimelineLane.Bar(from: start, to: min(end, elapsed), style: style))
        }
        if end < elapsed { lane.bars.append(TimelineLane.Bar(from: end, to: elapsed, style: .over)) }
        return lane
    }

    // MARK: - Scale

    /// Earlier moments are not drawn to scale, so that the incident gets the full width.
    private var earliest: Int64 { -(elapsed / 3) }
    /// Whether there are such moments.
    var isCut: Bool { (moments.first?.nanoseconds ?? 0) < earliest }
    /// The first moment that is drawn to scale.
    private var low: Int64 { min(moments.map(\.nanoseconds).first { $0 >= earliest } ?? 0, 0) }
    private var high: Int64 { max(moments.last?.nanoseconds ?? elapsed, elapsed) }

    /// The horizontal position of a moment, in hundredths of a percent of the width.
    func position(_ nanoseconds: Int64) -> Int {
        guard nanoseconds >= low else { return Self.margin }
        let left = Double(isCut ? Self.marginWhenCut : Self.margin)
        let share = Double(min(nanoseconds, high) - low) / Double(max(high - low, 1))
        return Int((left + share * (10_000 - Double(Self.margin) - left)).rounded())
    }

    /// Round numbers within the scale, six at most.
    var ticks: [Int64] {
        let range = max(high - low, 1)
        var step: Int64 = 1
        search: while true {
            for factor in [1, 2, 5] as [Int64] where range / (step * factor) < 6 {
                step *= factor
                break search
            }
            step *= 10
        }
        let first = low / step * step
        return (0...6).map { first + $0 * step }.filter { $0 >= low && $0 <= high }
    }

    // MARK: - Words

    /// `10.00 s`, `100 ms`, `4.9 ms`.
    static func span(_ nanoseconds: Int64) -> String {
        nanoseconds < 100_000 ? "less than 0.1 ms" : LaunchDetails.span(nanoseconds)
    }

    /// What a screen reader says instead of the drawing; the moments and samples follow as text.
    var words: String {
        let lasting = lanes.map(\.title).joined(separator: "; ")
        return "Timeline. "
            + moments.map { "\($0.name) \(Duration.nanoseconds($0.nanoseconds).offsetText)" }.joined(separator: ", ")
            + (lasting.isEmpty ? "" : ". \(lasting)")
    }

    /// One line for each stack that the samples showed, the most frequent first.
    private static func words(looks: SampleDetails) -> [String] {
        guard let spans = looks.spans, let stacks = looks.stacks else { return [] }
        var counts = [Int](repeating: 0, count: stacks.count)
        for span in spans where counts.indices.contains(span.stack) && span.count > 0 {
            counts[span.stack] = Int(bounded(Int64(counts[span.stack]) + bounded(Int64(span.count))))
        }
        let seen = counts.indices.filter { counts[$0] > 0 }.sorted { (counts[$1], $0) < (counts[$0], $1) }
        let lines = seen.prefix(5).map { index in
            let letter = TimelineLane.letter(index).map { "\($0): " } ?? ""
            return "\(letter)\(stacks[index].place), in \(counts[index]) of \(looks.looks) samples"
        }
        return lines + (seen.count > 5 ? ["\(seen.count - 5) other stacks, each in fewer samples"] : [])
    }
}
