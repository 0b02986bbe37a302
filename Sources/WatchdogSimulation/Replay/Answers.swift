// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// When an app was asked something, and how long its answers took.
struct Answers: Hashable, Sendable {
    /// One question.
    struct Answer: Hashable, Sendable {
        /// When it was asked, since the start of the trace.
        let sent: Duration
        /// How long the answer took; nil if none came.
        let latency: Duration?
        /// What a probe found.
        var result: ProbeResult?

        /// When the answer came; nil if none did.
        var end: Duration? { latency.map { sent + $0 } }

        func isOpen(at now: Duration) -> Bool { sent <= now && end.map { now < $0 } ?? true }
    }

    /// watchdogd asks all apps at common instants, at most 10 ms apart, and may be late: a question of the replay that
    /// comes so soon after a recorded one is that one.
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

    /// When a question that is due at this instant is asked: at once during a silence of the app, otherwise with the
    /// next recorded question, because nothing is known about the time in between; nil if there is none.
    func sending(dueAt due: Duration) -> Duration? {
        if let latest = latest(until: due), latest.isOpen(at: due) || due - latest.sent <= Self.tolerance { return due }
        return next(after: due)?.sent
    }

    /// When an app that is asked now answers; nil if it never does.
    ///
    /// An app without a recorded silence answers at once.
    ///
    /// - Parameter patience: how long after now a recorded question may be this one.
    func answer(at now: Duration, within patience: Duration = .zero) -> Duration? {
        if let latest = latest(until: now) {
            if now - latest.sent <= Self.tolerance { return latest.latency.map { now + $0 } }
            if latest.isOpen(at: now) { return latest.end }
        }
        if let next = next(after: now), next.sent - now <= patience { return next.latency.map { now + $0 } }
        return now
    }
}
