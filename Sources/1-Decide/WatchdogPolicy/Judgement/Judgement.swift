// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Judges one allowance: its deadline, what moves it, and the examination that must confirm it.
///
/// Every watch uses one. It takes events with the time and returns one step, which the watch turns into effects. Each
/// examination has its own id; an answer with another id changes nothing.
struct Judgement: Hashable, Sendable {
    /// The result of an event.
    enum Step: Hashable, Sendable {
        case nothing
        /// The supervisor overslept the deadline by this much; the deadline has moved.
        case overslept(by: Duration)
        /// Evidence is needed: examine the process and answer with this id.
        case inspect(id: Int)
        /// The clock stands still, or stands still for a new reason.
        case paused(Pause)
        /// The clock runs again. The allowance starts over if the pause was discovered only at the deadline.
        case resumed(after: Duration, startsOver: Bool)
        /// Run delay moved the deadline.
        case credited(Duration)
        /// The allowance is exhausted.
        case decided
    }

    private enum State: Hashable, Sendable {
        case counting
        /// The deadline has passed. Without an answer by `backstop`, the allowance is decided anyway.
        case examining(id: Int, backstop: Instant)
        /// The process is stopped, frozen or traced by somebody else.
        case paused(Standstill)
        /// Nothing more happens until the app dies or shows a sign of life.
        case decided
    }

    private struct Standstill: Hashable, Sendable {
        var pause: Pause
        let since: Instant
        /// What the app has left when it runs again.
        var remaining: Duration
        /// Whether the pause was discovered at the deadline, so that its start is unknown.
        let isFound: Bool
        var examination: Int?
        var next: Instant
    }

    /// How long an examination may take before the allowance is decided without it.
    static let examinationBudget: Duration = .milliseconds(250)

    let event: WatchdogEvent
    let allowance: Duration
    /// The full allowance, which run delay is compared with; `allowance` holds what remained of it at the start.
    let budget: Duration
    private(set) var startedAt: Instant
    /// The start of the evidence window.
    private(set) var windowStart: Instant
    private var end: Deadline
    private var state = State.counting
    private(set) var credit: Duration?
    private(set) var paused = Duration.zero
    private(set) var rebases = 0
    /// Whether the process is sampled from outside while the allowance runs.
    private(set) var isObserved = false
    /// Whether it was reported that half of the allowance has passed.
    private(set) var isSlow = false

    init(_ event: WatchdogEvent, from start: Instant, allowance: Duration, budget: Duration? = nil) {
        self.event = event
        self.allowance = allowance
        self.budget = budget ?? allowance
        startedAt = start
        windowStart = start
        end = Deadline(start + allowance)
    }

    /// Continues an allowance of which only the deadline is known.
    init(_ event: WatchdogEvent, from start: Instant, allowance: Duration, deadline: Deadline) {
        self.init(event, from: start, allowance: allowance)
        end = deadline
    }

    // MARK: - Questions

    var deadline: Instant { end.at }
    var extended: Duration { end.extended }

    /// When this needs attention next; nil if only the app can end it.
    var due: Instant? {
        switch state {
        case .counting: end.at
        case .examining(_, let backstop): backstop
        case .paused(let standstill): standstill.next
        case .decided: nil
        }
    }

    var isCounting: Bool { state == .counting }
    var isDecided: Bool { state == .decided }
    var isExamining: Bool { if case .examining = state { true } else { false } }
    /// Whether nothing has happened to it since its start.
    var isFresh: Bool { self == Judgement(event, from: startedAt, allowance: allowance) }

    private var standstill: Standstill? { if case .paused(let standstill) = state { standstill } else { nil } }

    var pausedSince: Instant? { standstill?.since }
    /// Why the clock stands still, and since when.
    var held: (pause: Pause, since: Instant)? { standstill.map { ($0.pause, $0.since) } }
    /// False while the clock stands still and the start of the pause is unknown.
    var isElapsedKnown: Bool { standstill?.isFound != true }

    /// The time since the start, without known pauses.
    func elapsed(at now: Instant) -> Duration {
        now - startedAt - paused - (standstill.map { now - $0.since } ?? .zero)
    }

    // MARK: - Time

    /// Handles the instant that ``due`` names.
    mutating func due(at now: Instant, _ terms: Terms, _ numbers: inout Numbers) -> Step {
        switch state {
        case .counting:
            switch terms.fairness.passage(of: end.at, at: now) {
            case .ahead: return .nothing
            case .passed: return terms.needsEvidence ? examine(at: now, &numbers) : decide()
            case .overslept(let lateness):
                // A launch or a termination only gets back the time that was overslept: when the supervisor starves,
                // so does the app.
                rebase(to: now + (event == .sceneUpdate ? budget : min(lateness, budget)))
                return .overslept(by: lateness)
            }
        case .examining(_, let backstop):
            return now >= backstop ? decide() : .nothing
        case .paused(let standstill):
            return now >= standstill.next ? examinePaused(standstill, at: now, terms, &numbers) : .nothing
        case .decided:
            return .nothing
        }
    }

    private mutating func decide() -> Step {
        state = .decided
        return .decided
    }

    /// Requests evidence, superseding any earlier request.
    mutating func examine(at now: Instant, _ numbers: inout Numbers) -> Step {
        let id = numbers.nextExamination()
        state = .examining(id: id, backstop: now + Self.examinationBudget)
        return .inspect(id: id)
    }

    private mutating func examinePaused(
        _ standstill: Standstill, at now: Instant, _ terms: Terms, _ numbers: inout Numbers
    ) -> Step {
        var standstill = standstill
        let id = numbers.nextExamination()
        standstill.examination = id
        standstill.next = terms.nextExamination(during: standstill.pause, at: now)
        state = .paused(standstill)
        return .inspect(id: id)
    }

    /// Examines again, because the previous supervisor may have lost the answer.
    mutating func returned(at now: Instant, _ terms: Terms, _ numbers: inout Numbers) -> Step {
        switch state {
        case .counting where now >= end.at, .examining: examine(at: now, &numbers)
        case .paused(let standstill): examinePaused(standstill, at: now, terms, &numbers)
        case .counting, .decided: .nothing
        }
    }

    // MARK: - Evidence

    /// Handles the answer to an examination.
    mutating func inspected(_ id: Int, _ evidence: Evidence, at now: Instant, _ terms: Terms) -> Step {
        let excuse = terms.excuse(in: evidence, at: now)
        switch state {
        case .examining(id, _):
            if let excuse {
                return pause(excuse, remaining: terms.recovery ?? budget, isFound: true, at: now, terms)
            }
            if let gained = grant(terms.runDelay ?? evidence.runDelay, at: now, terms.fairness) {
                return .credited(gained)
            }
            return decide()
        case .paused(var standstill) where standstill.examination == id:
            guard let excuse else { return resume(standstill, at: now) }
            let isChanged = excuse != standstill.pause
            standstill.examination = nil
            standstill.pause = excuse
            state = .paused(standstill)
            return isChanged ? .paused(excuse) : .nothing
        case .counting, .examining, .paused, .decided:
            return .nothing
        }
    }

    /// Whether an answer with this id counts.
    func awaits(_ id: Int) -> Bool {
        switch state {
        case .examining(let asked, _): asked == id
        case .paused(let standstill): standstill.examination == id
        case .counting, .decided: false
        }
    }

    /// Grants credit once per allowance, and only if the deadline then lies ahead.
    private mutating func grant(_ runDelay: Duration, at now: Instant, _ fairness: Fairness) -> Duration? {
        guard credit == nil, let gained = fairness.credit(for: runDelay, of: budget), end.at + gained > now else {
            return nil
        }
        credit = gained
        end.move(to: end.at + gained)
        state = .counting
        return gained
    }

    // MARK: - Pauses

    /// Handles a stop; one that is noticed after the deadline may have begun long before it.
    mutating func stopped(at now: Instant, _ terms: Terms) -> Step {
        switch state {
        case .counting where end.at > now:
            pause(.stopped, remaining: end.at - now, isFound: false, at: now, terms)
        case .counting, .examining:
            pause(.stopped, remaining: terms.recovery ?? budget, isFound: true, at: now, terms)
        case .paused, .decided: .nothing
        }
    }

    mutating func continued(at now: Instant) -> Step {
        guard let standstill, standstill.pause == .stopped else { return .nothing }
        return resume(standstill, at: now)
    }

    private mutating func pause(
        _ pause: Pause, remaining: Duration, isFound: Bool, at now: Instant, _ terms: Terms
    ) -> Step {
        let next = terms.nextExamination(during: pause, at: now)
        state = .paused(Standstill(pause: pause, since: now, remaining: remaining, isFound: isFound, next: next))
        return .paused(pause)
    }

    /// A pause whose start was seen leaves what remained.
    ///
    /// A pause discovered at the deadline may have lasted all the time, so it leaves the whole allowance.
    private mutating func resume(_ standstill: Standstill, at now: Instant) -> Step {
        if standstill.remaining > .zero {
            paused += now - standstill.since
            end.move(to: now + standstill.remaining)
            state = .counting
        } else {
            state = .decided
        }
        return .resumed(after: now - standstill.since, startsOver: standstill.isFound)
    }

    /// Handles a suspension of the machine; returns whether the deadline has moved.
    mutating func machineResumed(at now: Instant) -> Bool {
        switch state {
        case .counting, .examining:
            rebase(to: now + budget)
            return true
        case .paused, .decided:
            return false
        }
    }

    private mutating func rebase(to deadline: Instant) {
        rebases += 1
        state = .counting
        end.move(to: max(end.at, deadline))
    }

    // MARK: - Changes by watches

    /// Extends the allowance to `duration` from now, or from when the clock runs again, within the cap.
    mutating func extend(by duration: Duration, cap: Duration, at now: Instant) -> Deadline.Extension {
        let result = end.extend(by: duration, having: standstill?.remaining, cap: cap, at: now)
        guard case .gained(let gained) = result else { return result }
        switch state {
        case .paused(var standstill):
            standstill.remaining += gained
            state = .paused(standstill)
        case .examining: state = .counting
        case .counting, .decided: break
        }
        return result
    }

    /// Moves the deadline; credit and extensions stay as they are.
    mutating func move(to deadline: Instant) { end.move(to: deadline) }

    /// Examines a paused process again as soon as possible.
    mutating func hasten(at now: Instant) {
        guard case .paused(var standstill) = state else { return }
        standstill.examination = nil
        standstill.next = now
        state = .paused(standstill)
    }

    /// Drops an examination in progress; the next deadline requests another.
    mutating func dropExamination() {
        if isExamining { state = .counting }
    }

    /// Starts a new evidence window now.
    mutating func beginWindow(at now: Instant) {
        windowStart = now
        isObserved = false
        isSlow = false
    }

    /// Starts the allowance over now.
    mutating func restart(at now: Instant) {
        startedAt = now
        paused = .zero
    }

    mutating func observe() { isObserved = true }

    mutating func noteSlow() { isSlow = true }

    /// The next stage of the same budget, which keeps the deadline, credit, extensions and evidence.
    func handedOver(to event: WatchdogEvent, at now: Instant) -> Judgement {
        let granted = end.at - (credit ?? .zero) - extended
        var next = Judgement(event, from: now, allowance: max(.zero, granted - now), budget: budget)
        next.windowStart = windowStart
        next.end = end
        next.credit = credit
        next.rebases = rebases
        next.isObserved = isObserved
        next.isSlow = isSlow
        return next
    }

    /// The judgement of an incident that no answer averts: its deadline is now, and neither credit nor a pause extends
    /// it.
    func unexcused(at now: Instant) -> Judgement {
        var copy = Judgement(event, from: startedAt, allowance: allowance, budget: .zero)
        copy.windowStart = windowStart
        copy.end = end
        copy.end.move(to: now)
        copy.credit = credit
        copy.paused = paused
        copy.rebases = rebases
        return copy
    }

    /// The same with the totals that a watch kept over several judgements.
    func with(windowStart: Instant, paused: Duration, rebases: Int) -> Judgement {
        var copy = self
        copy.windowStart = windowStart
        copy.paused = paused
        copy.rebases = rebases
        return copy
    }
}

extension Judgement {
    init(_ saved: SavedJudgement) {
        self.init(saved.event, from: saved.startedAt, allowance: saved.allowance, budget: saved.budget)
        windowStart = saved.windowStart
        end = saved.deadline
        credit = saved.credit
        paused = saved.paused
        rebases = saved.rebases
        isObserved = saved.isObserved
        isSlow = saved.isSlow == true
        state =
            switch saved.state {
            case .counting: .counting
            case .examining(let id, let backstop): .examining(id: id, backstop: backstop)
            case .paused(let saved):
                .paused(
                    Standstill(
                        pause: saved.pause, since: saved.since, remaining: saved.remaining, isFound: saved.isFound,
                        examination: saved.examination, next: saved.next))
            case .decided: .decided
            }
    }

    var saved: SavedJudgement {
        let state: SavedJudgement.State =
            switch state {
            case .counting: .counting
            case .examining(let id, let backstop): .examining(id: id, backstop: backstop)
            case .paused(let standstill):
                .paused(
                    .init(
                        pause: standstill.pause, since: standstill.since, remaining: standstill.remaining,
                        isFound: standstill.isFound, examination: standstill.examination, next: standstill.next))
            case .decided: .decided
            }
        return SavedJudgement(
            event: event, allowance: allowance, budget: budget, startedAt: startedAt, windowStart: windowStart,
            deadline: end, credit: credit, paused: paused, rebases: rebases, isObserved: isObserved,
            isSlow: isSlow ? true : nil, state: state)
    }
}
