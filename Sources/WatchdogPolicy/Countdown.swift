// SPDX-License-Identifier: Apache-2.0

/// One running allowance.
struct Countdown: Hashable, Sendable, Codable {
    enum Condition: Hashable, Sendable, Codable {
        case counting
        /// The deadline has passed; a look at the process is under way, and counts as fruitless at `backstop`.
        case examining(backstop: Instant)
        /// The process does not run by someone else's will.
        case paused(Standstill)
        /// The incident is decided: nothing more happens until the app dies or shows a sign of life.
        case decided
    }

    struct Standstill: Hashable, Sendable, Codable {
        var pause: Pause
        let since: Instant
        /// What the app has when it runs again.
        var remaining: Duration
        /// Whether it was found at the deadline, so that nobody knows since when it lasts.
        let isFound: Bool
        var nextLook: Instant
    }

    enum Extension: Hashable, Sendable {
        case gained(Duration)
        case needless
        case capped
    }

    /// How long a look at the process may take before the decision falls without it.
    static let examinationBudget: Duration = .milliseconds(250)

    let event: WatchdogEvent
    let allowance: Duration
    /// The whole of which `allowance` is what was left: run delay is measured by it.
    let budget: Duration
    var startedAt: Instant
    /// Evidence counts from here.
    var windowStart: Instant
    var deadline: Instant
    var condition = Condition.counting
    var credit: Duration?
    var extended = Duration.zero
    var paused = Duration.zero
    var rebases = 0
    /// Whether the app is looked at from outside while the allowance runs.
    var isObserved = false
    /// Whether it runs for a state or an event that the main loop was sent, and not for a ping.
    var isForObligation = false

    init(_ event: WatchdogEvent, from start: Instant, allowance: Duration, budget: Duration? = nil) {
        self.event = event
        self.allowance = allowance
        self.budget = budget ?? allowance
        self.startedAt = start
        self.windowStart = start
        self.deadline = start + allowance
    }

    /// When this countdown next needs attention; nil when only the app can end it.
    var due: Instant? {
        switch condition {
        case .counting: deadline
        case .examining(let backstop): backstop
        case .paused(let standstill): standstill.nextLook
        case .decided: nil
        }
    }

    var standstill: Standstill? {
        guard case .paused(let standstill) = condition else { return nil }
        return standstill
    }

    /// The time since it started, without that for which the clock is known to have stood still.
    func elapsed(at now: Instant) -> Duration {
        now - startedAt - paused - (standstill.map { now - $0.since } ?? .zero)
    }

    /// The next stage of the same budget: deadline, credit, extensions and evidence go on.
    func handedOver(to event: WatchdogEvent, at now: Instant) -> Countdown {
        let granted = deadline - (credit ?? .zero) - extended
        var next = Countdown(event, from: now, allowance: max(.zero, granted - now), budget: budget)
        next.windowStart = windowStart
        next.deadline = deadline
        next.credit = credit
        next.extended = extended
        next.rebases = rebases
        next.isObserved = isObserved
        return next
    }

    /// Leaves the app `duration` from now if that is more than it has and the cap on all its extensions allows it.
    mutating func extend(by duration: Duration, cap: Duration, at now: Instant) -> Extension {
        let result = Self.extended(
            by: duration, having: standstill?.remaining ?? deadline - now, after: extended, cap: cap)
        guard case .gained(let gained) = result else { return result }
        extended += gained
        if case .paused(var standstill) = condition {
            standstill.remaining += gained
            condition = .paused(standstill)
        } else {
            deadline = deadline + gained
            if case .examining = condition { condition = .counting }
        }
        return result
    }

    /// What an allowance of which `left` is left gains by an extension that is to leave `duration`.
    static func extended(
        by duration: Duration, having left: Duration, after extended: Duration, cap: Duration
    ) -> Extension {
        let wanted = min(duration, cap) - left
        guard wanted > .zero else { return .needless }
        let gained = min(wanted, cap - extended)
        return gained > .zero && left + gained > .zero ? .gained(gained) : .capped
    }
}
