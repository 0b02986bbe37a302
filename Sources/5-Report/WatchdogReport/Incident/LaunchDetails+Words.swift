// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension LaunchDetails {
    /// The maximum number of intervals in a sentence.
    private static let named = 4
    /// The minimum length of a named interval, in percent of the launch.
    private static let leastPercent: Int64 = 5

    /// Limits a number from a file, so that calculations with it cannot overflow.
    private static func bounded(_ value: Int64) -> Int64 { min(max(value, 0), 1 << 50) }

    private var duration: Int64 { max(1, Self.bounded(nanoseconds)) }

    /// The use of the launch's time, from the app's own marks: `friends.json 8.10 s (41 %), photo ×5 9.70 s (49 %),
    /// photo 6 still open`; nil if the app marked no intervals.
    ///
    /// Of the main thread's marks, or of all if it has none, it names the longest outermost ones, with those of one
    /// name summed up, in order of time, and the innermost one that was open at the end.
    package var spent: String? {
        let intervals = intervals
        let outer = intervals.filter { inner in !intervals.contains { $0.contains(inner) } }
        let shares = Share.all(of: outer).sorted { $0.length > $1.length }
        let long = shares.filter { percent($0.length) >= Self.leastPercent }.prefix(Self.named)
        let shown = (long.isEmpty ? shares.prefix(1) : long).sorted { $0.start < $1.start }
        guard !shown.isEmpty else { return nil }
        var words = shown.map { "\($0.title) \(Self.span($0.length)) (\(percent($0.length)) %)" }
        let open = intervals.filter(\.isOpen).max { ($0.start, $1.length) < ($1.start, $0.length) }
        if let open {
            if let index = shown.firstIndex(where: { $0.name == open.name }) {
                words[index] += ", still open"
            } else {
                words.append("\(open.name) still open")
            }
        }
        let marked = outer.reduce(Int64(0)) { $0 + $1.length }
        let rest = duration - min(duration, marked)
        if rest * 10 >= duration { words.append("\(Self.span(rest)) unmarked") }
        return words.joined(separator: ", ")
    }

    /// The slow phases before the app's first message, as recorded by the kernel: `library constructors 375 ms (16 %)`,
    /// or the open one: `own constructors not finished in 1.00 s`; nil without any.
    package var slowStart: String? {
        let words = phases.filter(\.isActivity).compactMap { phase -> String? in
            let length = Self.bounded(phase.nanoseconds)
            if phase.isOpen { return "\(phase.title) not finished in \(Self.span(length))" }
            let percent = percent(min(length, duration))
            return percent >= Self.leastPercent ? "\(phase.title) \(Self.span(length)) (\(percent) %)" : nil
        }
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }

    /// The phases in one line: `exec 1.2 ms, hello 40 ms, first frame after 19.96 s without one`.
    package var phaseWords: String {
        phases.map { phase in
            let length = Self.span(Self.bounded(phase.nanoseconds))
            guard phase.isOpen else { return "\(phase.title) \(length)" }
            return phase.isActivity
                ? "\(phase.title) not finished in \(length)" : "\(phase.title) not reached in \(length)"
        }.joined(separator: ", ")
    }

    /// The first thread's use of the longest phase: `on a CPU 41 %, preempted 2 %, blocked 57 %`; nil if unknown.
    private var longestPhase: String? {
        guard let phase = phases.filter({ $0.name != "exec" }).max(by: { $0.nanoseconds < $1.nanoseconds }),
            let running = phase.runningNanoseconds, let blocked = phase.blockedNanoseconds
        else { return nil }
        let shares = [("on a CPU", running), ("preempted", phase.preemptedNanoseconds ?? 0), ("blocked", blocked)]
        let whole = max(1, shares.reduce(Int64(0)) { $0 + Self.bounded($1.1) })
        let words = shares.compactMap { name, part in
            let percent = (Self.bounded(part) * 100 + whole / 2) / whole
            return percent > 0 ? "\(name) \(percent) %" : nil
        }
        return "\(phase.fullTitle), first thread \(words.joined(separator: ", "))"
    }

    /// Lines for the reader, each beginning with a word and a colon.
    package var lines: [String] {
        let end = isReady ? "ready" : "not ready"
        var lines = ["Launch: \(end) after \(Self.span(duration))" + (phases.isEmpty ? "" : ": \(phaseWords)")]
        if let event { lines.append("Launched for: \(event.singleLine(limit: 256))") }
        if let longestPhase { lines.append("Longest phase: \(longestPhase)") }
        lines += phases.compactMap { phase in phase.waitWords.map { "Earlier phase: \(phase.fullTitle): \($0)" } }
        if let last = phases.last, last.isOpen, let ending = last.ending {
            lines.append("Last phase: \(last.fullTitle): \(ending)")
        }
        if let unrecorded { lines.append("Launch phases: before the first message unknown: \(unrecorded)") }
        if let spent { lines.append("Launch time: \(spent)") }
        if let usefulNanoseconds { lines.append("Useful: after \(Self.span(Self.bounded(usefulNanoseconds)))") }
        if !tasks.isEmpty {
            let words = tasks.prefix(16).map { task in
                "\(task.name) \(Self.span(Self.bounded(task.nanoseconds)))" + (task.isOpen ? ", still open" : "")
            }
            lines.append("Launch tasks: \(words.joined(separator: "; "))")
        }
        if let lostMarks { lines.append("Launch marks: \(lostMarks) are missing") }
        return lines
    }

    // MARK: - Intervals

    private struct Interval: Equatable {
        let index: Int
        let name: String
        let start: Int64
        let end: Int64
        let isOpen: Bool

        var length: Int64 { end - start }

        /// Of two equal intervals, the first contains the second.
        func contains(_ other: Interval) -> Bool {
            guard index != other.index, start <= other.start, end >= other.end else { return false }
            return start < other.start || end > other.end || index < other.index
        }
    }

    /// The intervals of the launch, of the main thread only if it has any.
    private var intervals: [Interval] {
        let all = signposts.enumerated().compactMap { index, signpost -> (isMain: Bool, interval: Interval)? in
            guard let nanoseconds = signpost.nanoseconds else { return nil }
            let start = min(Self.bounded(signpost.startNanoseconds), duration)
            let end = min(start + Self.bounded(nanoseconds), duration)
            let interval = Interval(
                index: index, name: signpost.name, start: start, end: end, isOpen: signpost.isOpen)
            return (signpost.isOnMainThread, interval)
        }
        let main = all.filter(\.isMain)
        return (main.isEmpty ? all : main).map(\.interval)
    }

    /// All intervals of one name.
    private struct Share {
        let name: String
        let start: Int64
        var length: Int64
        var count = 1

        var title: String { count > 1 ? "\(name) ×\(count)" : name }

        static func all(of intervals: [Interval]) -> [Share] {
            var shares: [Share] = []
            for interval in intervals.sorted(by: { $0.start < $1.start }) {
                if let index = shares.firstIndex(where: { $0.name == interval.name }) {
                    shares[index].length += interval.length
                    shares[index].count += 1
                } else {
                    shares.append(Share(name: interval.name, start: interval.start, length: interval.length))
                }
            }
            return shares
        }
    }

    private func percent(_ length: Int64) -> Int64 { (length * 100 + duration / 2) / duration }

    /// `9.70 s`, `246 ms`, `1.2 ms`.
    package static func span(_ nanoseconds: Int64) -> String {
        switch nanoseconds {
        case ..<10_000_000: "\(nanoseconds / 1_000_000).\(nanoseconds / 100_000 % 10) ms"
        case ..<1_000_000_000: "\(nanoseconds / 1_000_000) ms"
        default: Duration.nanoseconds(nanoseconds).seconds(fractionDigits: 2) + " s"
        }
    }
}

extension LaunchDetails.Phase {
    private var phase: LaunchPhaseName? { LaunchPhaseName(rawValue: name) }

    /// Whether the phase is named after its activity and not after its end.
    package var isActivity: Bool { phase?.isActivity == true }

    /// The name for people.
    package var title: String { phase?.title ?? name }

    /// What blocked the first thread: `blocked 800 ms, in 7 of 8 samples in nanosleep, called by slow (own.c:5)`; nil
    /// if unknown.
    fileprivate var waitWords: String? {
        guard let wait, !isOpen else { return nil }
        let time = blockedNanoseconds.map { " \(LaunchDetails.span(max(0, $0)))," } ?? ""
        let caller = wait.caller.map { ", called by \($0.singleLine(limit: 80))" } ?? ""
        let call = wait.call.singleLine(limit: 64)
        return "blocked\(time) in \(wait.samples) of \(wait.ofSamples) samples in \(call)\(caller)"
    }

    /// The name for people outside a list of phases.
    fileprivate var fullTitle: String { phase?.fullTitle ?? "until \(name)" }
}
