// SPDX-License-Identifier: Apache-2.0

extension AppMachine {
    mutating func deadlineReached(at now: Instant, _ effects: inout [AppEffect]) {
        if !$capture.isEmpty, let capture {
            guard now >= capture.budgetEnd else { return }
            effects.append(.announce(.captureTimedOut))
            captureEnded(capture, at: now, &effects)
            return
        }
        switch life {
        case .idle, .ended:
            break
        case .launching, .running, .terminating:
            triggerDue(at: now, &effects)
            if $capture.isEmpty, let due = countdown?.due, now >= due { countdownDue(at: now, &effects) }
            guard $capture.isEmpty else { return }
            if !isObserving, let due = observationDue, now >= due { observe(&effects) }
            lifecycleDue(at: now, &effects)
            guard $capture.isEmpty else { return }
            if life == .running, let due = nextPing, now >= due { sendPing(at: now, &effects) }
            if life == .launching, let due = nextProbe, now >= due {
                nextProbe = nil
                effects.append(.probe)
            }
            livenessDue(at: now, &effects)
        case .dying:
            guard let end = deathBudgetEnd, now >= end else { return }
            effects.append(.announce(.unkillable))
            concludeDeath(verified: false, &effects)
        }
    }

    private mutating func countdownDue(at now: Instant, _ effects: inout [AppEffect]) {
        guard let running = countdown else { return }
        switch running.condition {
        case .counting:
            let lateness = now - running.deadline
            if lateness > spec.fairness.oversleep {
                effects.append(.announce(.overslept(by: lateness, event: running.event)))
                overslept(by: lateness, at: now, &effects)
            } else if life == .launching, spec.readiness == .automatic, !hasSpoken {
                becomeReady(.assumed, at: now, &effects)
            } else {
                examine(at: now, &effects)
            }
        case .examining:
            decide(on: nil, at: now, &effects)
        case .paused(var standstill):
            standstill.nextLook = now + spec.fairness.pauseInterval
            countdown?.condition = .paused(standstill)
            effects.append(.inspect)
        case .decided:
            break
        }
    }

    mutating func examine(at now: Instant, _ effects: inout [AppEffect]) {
        countdown?.condition = .examining(backstop: now + Countdown.examinationBudget)
        effects.append(.inspect)
    }

    mutating func inspected(_ evidence: Evidence, at now: Instant, _ effects: inout [AppEffect]) {
        triggerInspected(evidence, at: now, &effects)
        countdownInspected(evidence, at: now, &effects)
        livenessInspected(evidence, at: now, &effects)
    }

    private mutating func countdownInspected(_ evidence: Evidence, at now: Instant, _ effects: inout [AppEffect]) {
        guard capture == nil, let running = countdown else { return }
        switch running.condition {
        case .examining:
            if let pause = pause(in: evidence) {
                self.pause(pause, remaining: running.budget, isFound: true, at: now, &effects)
            } else if !grantCredit(for: evidence.runDelay, at: now, &effects) {
                decide(on: evidence, at: now, &effects)
            }
        case .paused(var standstill):
            if let current = pause(in: evidence) {
                guard current != standstill.pause else { return }
                standstill.pause = current
                countdown?.condition = .paused(standstill)
                effects.append(.announce(.paused(current)))
            } else {
                resume(at: now, &effects)
            }
        case .counting, .decided:
            break
        }
    }

    /// An app that is asked to end gets SIGCONT with the request: that it is stopped is then no excuse.
    ///
    /// Neither is that we have frozen it ourselves, however that was done.
    func pause(in evidence: Evidence) -> Pause? {
        switch evidence.pause {
        case .stopped where life == .terminating(isRequested: true): nil
        case .stopped where lifecycle.freeze != nil, .frozen where lifecycle.freeze != nil: nil
        case let pause: pause
        }
    }

    /// Once per countdown; true when the deadline moved.
    private mutating func grantCredit(
        for runDelay: Duration, at now: Instant, _ effects: inout [AppEffect]
    ) -> Bool {
        guard var running = countdown, running.credit == nil else { return false }
        let floor = running.budget * spec.fairness.creditFloorPercent / 100
        let cap = running.budget * spec.fairness.creditCapPercent / 100
        let credit = min(runDelay, cap)
        guard credit > .zero, runDelay >= floor, running.deadline + credit > now else { return false }
        running.credit = credit
        running.condition = .counting
        running.deadline = running.deadline + credit
        countdown = running
        effects.append(.announce(.starvationCredit(credit, event: running.event)))
        return true
    }

    private mutating func decide(on evidence: Evidence?, at now: Instant, _ effects: inout [AppEffect]) {
        guard let running = countdown else { return }
        countdown?.condition = .decided
        decide(.exhausted, running, on: evidence, at: now, &effects)
    }

    mutating func decide(
        _ cause: Incident.Cause, _ basis: Countdown, on evidence: Evidence?, at now: Instant,
        _ effects: inout [AppEffect]
    ) {
        dropTrigger(at: now, &effects)
        incidentCount += 1
        let isLaunch = [.processLaunch, .sceneCreate].contains(basis.event)
        let incident = Incident(
            id: incidentCount,
            event: basis.event,
            cause: cause,
            allowance: basis.allowance,
            startedAt: basis.startedAt,
            windowStart: basis.windowStart,
            deadline: basis.deadline,
            decidedAt: now,
            credit: basis.credit ?? .zero,
            extended: basis.extended,
            paused: basis.paused,
            rebases: basis.rebases,
            evidence: evidence,
            visibility: lifecycle.visibility,
            isSuspended: lifecycle.freeze != nil,
            isEnforced: spec.enforcement == .kill,
            awaited: isLaunch && cause == .exhausted ? spec.awaited : nil,
            isDeathVerified: nil
        )
        capture = Capture(incident: incident, budgetEnd: now + spec.captureBudget)
        effects += [.announce(.transgressed(incident)), .capture(incident)]
    }

    // MARK: - Clocks that do not count

    /// A stop that is noticed after the deadline may have begun long before it.
    mutating func stopped(at now: Instant, _ effects: inout [AppEffect]) {
        guard let running = countdown, life != .terminating(isRequested: true) else { return }
        switch running.condition {
        case .counting where running.deadline > now:
            pause(.stopped, remaining: running.deadline - now, isFound: false, at: now, &effects)
        case .counting, .examining:
            pause(.stopped, remaining: running.budget, isFound: true, at: now, &effects)
        case .paused, .decided:
            break
        }
    }

    mutating func continued(at now: Instant, _ effects: inout [AppEffect]) {
        guard countdown?.standstill?.pause == .stopped else { return }
        resume(at: now, &effects)
    }

    private mutating func pause(
        _ pause: Pause, remaining: Duration, isFound: Bool, at now: Instant, _ effects: inout [AppEffect]
    ) {
        let nextLook = now + spec.fairness.pauseInterval
        countdown?.condition = .paused(
            .init(pause: pause, since: now, remaining: remaining, isFound: isFound, nextLook: nextLook))
        effects.append(.announce(.paused(pause)))
    }

    /// A pause that was seen to begin leaves what remained of the allowance; one that was found at the deadline may have
    /// lasted all the time, and leaves the whole allowance and demands that a fresh ping is missed.
    private mutating func resume(at now: Instant, _ effects: inout [AppEffect]) {
        guard var running = countdown, let standstill = running.standstill else { return }
        announceResumed(at: now, &effects)
        running.paused += now - standstill.since
        running.condition = .counting
        running.deadline = now + standstill.remaining
        countdown = running
        if standstill.isFound { beginAnew(at: now, &effects) }
    }

    func announceResumed(at now: Instant, _ effects: inout [AppEffect]) {
        guard let standstill = countdown?.standstill else { return }
        effects.append(.announce(.resumed(after: now - standstill.since)))
    }

    mutating func machineResumed(_ suspension: Duration, at now: Instant, _ effects: inout [AppEffect]) {
        stayResumed(at: now)
        guard let running = countdown else { return }
        switch running.condition {
        case .counting, .examining:
            effects.append(.announce(.machineResumed(suspension: suspension)))
            rebase(to: now + running.budget)
            beginAnew(at: now, &effects)
        case .paused, .decided:
            break
        }
    }

    /// What the supervisor slept through is granted again.
    ///
    /// A window that spans the launch or the end goes on: where the supervisor starves, the app does too.
    private mutating func overslept(by lateness: Duration, at now: Instant, _ effects: inout [AppEffect]) {
        guard let running = countdown else { return }
        if running.event == .sceneUpdate {
            rebase(to: now + running.budget)
            beginAnew(at: now, &effects)
        } else {
            rebase(to: now + min(lateness, running.budget))
        }
    }

    private mutating func rebase(to deadline: Instant) {
        guard var running = countdown else { return }
        running.rebases += 1
        running.condition = .counting
        running.deadline = max(running.deadline, deadline)
        countdown = running
    }

    /// Evidence counts from here, and an app that answers pings has to miss a fresh one.
    private mutating func beginAnew(at now: Instant, _ effects: inout [AppEffect]) {
        countdown?.windowStart = now
        countdown?.isObserved = false
        effects.append(.beginWindow)
        guard let running = countdown, running.event == .sceneUpdate, !running.isForObligation, answersPings,
            life == .running
        else { return }
        countdown?.startedAt = now
        countdown?.paused = .zero
        applyGrace(at: now)
        issuePing(at: now, &effects)
    }
}
