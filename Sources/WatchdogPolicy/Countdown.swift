// SPDX-License-Identifier: Apache-2.0

/// One running allowance.
struct Countdown: Hashable, Sendable {
    enum Condition: Hashable, Sendable {
        case counting
        /// The deadline has passed; a look at the process is under way, and counts as fruitless at `backstop`.
        case examining(backstop: Instant)
        /// The process does not run by someone else's will. `remaining` is nil when nobody knows since when.
        case paused(Pause, since: Instant, remaining: Duration?, nextLook: Instant)
        /// The incident was reported and not enforced: nothing more happens until the app shows a sign of life.
        case reported
    }

    /// How long a look at the process may take before the decision falls without it.
    static let examinationBudget: Duration = .milliseconds(250)

    let event: WatchdogEvent
    var startedAt: Instant
    let allowance: Duration
    var deadline: Instant
    var condition = Condition.counting
    var cause = Incident.Cause.exhausted
    var credit: Duration?
    var extended = Duration.zero
    var paused = Duration.zero
    var rebases = 0

    init(_ event: WatchdogEvent, from start: Instant, allowance: Duration) {
        self.event = event
        self.startedAt = start
        self.allowance = allowance
        self.deadline = start + allowance
    }

    /// When this countdown next needs attention; nil when only the app can end it.
    var due: Instant? {
        switch condition {
        case .counting: deadline
        case .examining(let backstop): backstop
        case .paused(_, _, _, let nextLook): nextLook
        case .reported: nil
        }
    }

    mutating func postpone(by duration: Duration) {
        deadline = deadline + duration
    }
}
