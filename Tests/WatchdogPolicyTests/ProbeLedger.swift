// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

/// The part of a ``Ledger`` that accounts for liveness probes.
struct ProbeLedger {
    enum State: Equatable {
        case off
        case waiting(until: Instant)
        case running(until: Instant)
        /// A probe was cancelled; another state follows in the same step.
        case cancelled(until: Instant)
        case looking(until: Instant)
        case standing(Pause, nextLook: Instant)
    }

    private let spec: AppSpec
    private(set) var state = State.off
    private(set) var lastID = 0
    private(set) var failures = 0
    /// Whether an incident was decided and no successful probe has ended it.
    private(set) var isOver = false
    private var started = Instant(nanoseconds: 0)
    private var hasCredit = false
    private var sparedUntil: Instant?
    private var stoppedSince: Instant?
    private var serverStoppedSince: Instant?
    private var isImpossibleTold = false
    private var isLookDue = false
    private var isStopSeen = false
    /// Whether an examination for the probes was answered.
    private var isAnswered = false

    init(_ spec: AppSpec) {
        self.spec = spec
    }

    var due: Instant? {
        switch state {
        case .off, .cancelled: nil
        case .waiting(let until), .running(let until), .looking(let until), .standing(_, let until): until
        }
    }

    var isUnderWay: Bool {
        if case .running = state { true } else { false }
    }

    var isLooking: Bool {
        switch state {
        case .looking, .standing: true
        case .off, .waiting, .running, .cancelled: false
        }
    }

    private var isStanding: Bool {
        if case .standing = state { true } else { false }
    }

    private func held(_ evidence: Evidence) -> Pause? { evidence.pause ?? evidence.serverPause }

    private func excuses(_ pause: Pause, at now: Instant) -> Bool {
        guard pause == .stopped, let since = stoppedSince ?? serverStoppedSince else { return true }
        return now - since < spec.allowances.update
    }

    private mutating func wait(isLaunching: Bool, at now: Instant) {
        let interval = isLaunching ? spec.probeInterval : spec.livenessProbe?.interval ?? .zero
        state = .waiting(until: max(now, started + interval))
    }

    private mutating func forget() {
        failures = 0
        isOver = false
        hasCredit = false
        sparedUntil = nil
    }

    // MARK: - Before the effects

    mutating func foresee(_ happened: ProcessEvent, _ answering: Ledger.Asker?, at now: Instant) {
        isAnswered = answering == .probes
        isLookDue = false
        isStopSeen = false
        switch happened {
        case .inspected(_, let evidence) where answering != nil:
            stoppedSince = evidence.pause == .stopped ? stoppedSince ?? now : nil
            if isAnswered, evidence.pause == nil {
                serverStoppedSince = evidence.serverPause == .stopped ? serverStoppedSince ?? now : nil
            }
        case .stopped:
            stoppedSince = stoppedSince ?? now
            isStopSeen = excuses(.stopped, at: now)
        default: break
        }
    }

    // MARK: - Effects

    mutating func bookLaunch(at now: Instant) {
        guard spec.livenessProbe != nil else { return }
        if [.probe, .automatic].contains(spec.readiness) { state = .waiting(until: now + spec.probeInterval) }
    }

    mutating func bookReady(isAnswered: Bool, at now: Instant) {
        guard spec.livenessProbe != nil else { return }
        if spec.readiness == .probe || isAnswered {
            wait(isLaunching: false, at: now)
        } else {
            // Readiness probes are separate.
            state = .waiting(until: now)
            isImpossibleTold = false
        }
    }

    mutating func bookStart(_ id: Int, _ happened: ProcessEvent, at now: Instant) -> String? {
        defer {
            lastID = id
            started = now
            state = .running(until: now + (spec.livenessProbe?.timeout ?? .zero))
        }
        guard id == lastID + 1 else { return "probe \(id) after \(lastID)" }
        switch (state, happened) {
        case (.waiting(let until), _): return now >= until ? nil : "probe before its time"
        case (.cancelled, .deadlineReached), (.cancelled, .machineResumed), (.looking, .machineResumed),
            (.cancelled, .continued), (.looking, .continued), (.standing(.stopped, _), .continued):
            return nil
        case (.standing, .inspected) where isAnswered: return nil
        default: return "probe at \(state) because of \(happened)"
        }
    }

    mutating func bookCancel(_ happened: ProcessEvent, isLaunching: Bool, at now: Instant) -> String? {
        guard case .running(let until) = state else { return "cancelled a probe at \(state)" }
        state = .cancelled(until: until)
        guard case .deadlineReached = happened, now >= until, now - until <= spec.fairness.oversleep else { return nil }
        guard isOver || isLaunching else { return nil }
        if isOver {
            failures += 1
            isImpossibleTold = false
        }
        wait(isLaunching: isLaunching, at: now)
        return nil
    }

    mutating func book(
        _ notice: ProbeNotice, _ happened: ProcessEvent, spared: Instant?, isOpen: Bool, at now: Instant
    ) -> String? {
        switch notice {
        case .failed(let missed):
            failures += 1
            isImpossibleTold = false
            guard missed.count == failures, missed.lastDuration == now - started, !isOver else {
                return "\(missed) is failure \(failures)"
            }
            switch (state, happened, missed.last) {
            case (.running, .livenessProbed(lastID, .failed), .failed): break
            case (.cancelled(let until), .deadlineReached, .noAnswer) where now >= until: break
            default: return "failed at \(state) because of \(happened)"
            }
            wait(isLaunching: false, at: now)
            let end = max(spared ?? now, sparedUntil ?? now)
            isLookDue = failures >= spec.livenessProbe?.threshold ?? .max && now >= end && !isOpen
            return nil
        case .recovered(let count):
            return count == failures && count > 0 && !isOver ? nil : "recovered from \(count), not \(failures)"
        case .impossible:
            defer { isImpossibleTold = true }
            return isImpossibleTold ? "told twice that probes are impossible" : nil
        case .overslept(let late):
            guard case .running(let until) = state, late == now - until, late > spec.fairness.oversleep else {
                return "probe overslept by \(late)"
            }
            return nil
        case .credited(let credit):
            guard case .looking = state, case .inspected(_, let evidence) = happened, isAnswered, !hasCredit,
                let whole = spec.livenessProbe?.allowance,
                credit == min(evidence.runDelay, whole * spec.fairness.creditCapPercent / 100),
                evidence.runDelay >= whole * spec.fairness.creditFloorPercent / 100
            else { return "probes credited with \(credit)" }
            hasCredit = true
            sparedUntil = now + credit
            wait(isLaunching: false, at: now)
            return nil
        case .paused(let pause):
            return bookPause(pause, happened, at: now)
        case .resumed:
            guard case .standing = state else { return "probes resumed at \(state)" }
            forget()
            return nil
        }
    }

    private mutating func bookPause(_ pause: Pause, _ happened: ProcessEvent, at now: Instant) -> String? {
        switch happened {
        case .inspected(_, let evidence) where isAnswered && held(evidence) == pause && excuses(pause, at: now): break
        case .stopped where pause == .stopped && !isStanding && excuses(pause, at: now): break
        default: return "probes paused by \(pause) because of \(happened)"
        }
        switch state {
        case .looking: state = .standing(pause, nextLook: nextLook(pause, at: now))
        case .standing(let other, let look) where other != pause: state = .standing(pause, nextLook: look)
        default: return "probes paused at \(state)"
        }
        return nil
    }

    private func nextLook(_ pause: Pause, at now: Instant) -> Instant {
        let next = now + spec.fairness.pauseInterval
        guard pause == .stopped, let since = stoppedSince ?? serverStoppedSince, since + spec.allowances.update > now
        else { return next }
        return min(next, since + spec.allowances.update)
    }

    /// Claims an examination that the probes requested.
    mutating func claimsLook(_ happened: ProcessEvent, isCaptureOver: Bool, at now: Instant) -> Bool {
        if isLookDue {
            isLookDue = false
            state = .looking(until: now + .milliseconds(250))
            return true
        }
        switch (state, happened) {
        case (.standing(let pause, let look), .deadlineReached) where now >= look:
            state = .standing(pause, nextLook: nextLook(pause, at: now))
            return true
        case (.looking, _) where isCaptureOver:
            state = .looking(until: now + .milliseconds(250))
            return true
        default:
            return false
        }
    }

    mutating func bookIncident(
        _ incident: Incident, _ missed: MissedProbes, _ happened: ProcessEvent, at now: Instant
    ) -> String? {
        guard let probe = spec.livenessProbe, failures >= probe.threshold, missed.count == failures, !isOver,
            incident.allowance == probe.allowance, incident.deadline <= now
        else { return "\(missed) became an incident after \(failures) failures" }
        switch (state, happened) {
        case (.looking, .inspected(_, let evidence)) where isAnswered:
            if let pause = held(evidence), excuses(pause, at: now) { return "killed while \(pause)" }
        case (.standing, .inspected(_, let evidence)) where isAnswered:
            guard let pause = held(evidence), !excuses(pause, at: now) else { return "killed out of a pause" }
        case (.looking(let until), .deadlineReached) where now >= until: break
        default: return "probes decided at \(state) because of \(happened)"
        }
        isOver = true
        wait(isLaunching: false, at: now)
        return nil
    }

    /// Probe progress of a healthy app is not saved; the next probe is due immediately.
    mutating func bookRestart() {
        lastID = 0
        serverStoppedSince = nil
        guard failures == 0, !isOver, !hasCredit, sparedUntil == nil else { return }
        switch state {
        case .waiting, .running, .cancelled: state = .waiting(until: Instant(nanoseconds: 0))
        case .off, .looking, .standing: break
        }
    }

    /// Restarts what the previous supervisor had begun.
    mutating func bookReturn(at now: Instant) {
        switch state {
        case .running, .looking: state = .waiting(until: now)
        case .standing(let pause, _): state = .standing(pause, nextLook: now)
        case .off, .waiting, .cancelled: break
        }
    }

    mutating func bookEnd() {
        state = .off
        isOver = false
    }

    // MARK: - After the effects

    mutating func bookWords(_ happened: ProcessEvent, isLaunching: Bool, isCaptureOver: Bool, at now: Instant) {
        // The supervisor does not check its clock during a capture.
        if isCaptureOver, case .running(let until) = state { state = .running(until: max(until, now)) }
        switch happened {
        case .livenessProbed(lastID, let result):
            guard isUnderWay else { return }
            if result == .answered {
                forget()
                serverStoppedSince = nil
                isImpossibleTold = false
            }
            if case .impossible = result {
            } else if result != .answered, isOver {
                failures += 1
                isImpossibleTold = false
            }
            wait(isLaunching: isLaunching, at: now)
        case .continued:
            if stoppedSince != nil, !isLaunching, !isOver, !isStanding { forget() }
            stoppedSince = nil
        default:
            break
        }
    }

    /// A missing effect that was due.
    func omission() -> String? {
        if case .looking = state, isStopSeen { return "a stop was overlooked" }
        if isLookDue { return "no look after \(failures) failures" }
        if case .cancelled = state { return "nothing followed a probe that was cancelled" }
        return nil
    }
}
