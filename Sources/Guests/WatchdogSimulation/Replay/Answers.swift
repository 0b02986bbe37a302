// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The recorded questions of one kind to an app, and the latencies of its answers.
struct Answers: Hashable, Sendable {
    /// A question and its answer.
    struct Answer: Hashable, Sendable {
        /// The time of the question, since the start of the trace.
        let sent: Duration
        /// The time until the answer; nil without one.
        let latency: Duration?
        var result: ProbeResult?

        /// The time of the answer; nil without one.
        var end: Duration? { latency.map { sent + $0 } }

        func isOpen(at now: Duration) -> Bool { sent <= now && end.map { now < $0 } ?? true }
    }

    /// watchdogd rounds questions to common instants, at most 10 ms apart, and may be late.
    ///
    /// A replayed question this soon after a recorded one is matched to it.
    static let tolerance = Duration.milliseconds(50)

    private(set) var all: [Answer] = []

    var isEmpty: Bool { all.isEmpty }

    mutating func add(sent: Duration, latency: Duration?, result: ProbeResult? = nil) {
        all.append(Answer(sent: sent, latency: latency, result: result))
    }

    mutating func sort() { all.sort { ($0.sent, $0.latency ?? .zero) < ($1.sent, $1.latency ?? .zero) } }

    /// The index of the first question after this instant.
    private func first(after now: Duration) -> Int {
        var (low, high) = (0, all.count)
        while low < high {
            let middle = (low + high) / 2
            if all[middle].sent > now { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// The latest question until this instant.
    func latest(until now: Duration) -> Answer? {
        let next = first(after: now)
        return next > 0 ? all[next - 1] : nil
    }

    /// The first question after this instant.
    func next(after now: Duration) -> Answer? {
        let next = first(after: now)
        return next < all.count ? all[next] : nil
    }

    /// The time at which a question due at this instant is sent: immediately during a silence of the app, otherwise
    /// together with the next recorded question, because nothing is recorded in between; nil without one.
    func sending(dueAt due: Duration) -> Duration? {
        if let latest = latest(until: due), latest.isOpen(at: due) || due - latest.sent <= Self.tolerance { return due }
        return next(after: due)?.sent
    }

    /// The time of the answer to a question sent now; nil without an answer.
    ///
    /// An app without a recorded silence answers immediately.
    ///
    /// - Parameter patience: the maximum delay of a recorded question that matches this one.
    func answer(at now: Duration, within patience: Duration = .zero) -> Duration? {
        if let latest = latest(until: now) {
            if now - latest.sent <= Self.tolerance { return latest.latency.map { now + $0 } }
            if latest.isOpen(at: now) { return latest.end }
        }
        if let next = next(after: now), next.sent - now <= patience { return next.latency.map { now + $0 } }
        return now
    }
}
