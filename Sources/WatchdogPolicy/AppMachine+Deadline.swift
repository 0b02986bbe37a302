// SPDX-License-Identifier: Apache-2.0

extension AppMachine {
    mutating func deadlineReached(at now: Instant, _ effects: inout [AppEffect]) {
        switch phase {
        case .idle, .ended:
            break
        case .launching, .running, .terminating:
            if let due = countdown?.due, now >= due { countdownDue(at: now, &effects) }
            if phase == .running, let due = nextPing, now >= due { sendPing(at: now, &effects) }
            if phase == .launching, let due = nextProbe, now >= due {
                nextProbe = nil
                effects.append(.probe)
            }
        case .capturing(let incident):
            guard let end = budgetEnd, now >= end else { return }
            effects.append(.announce(.captureTimedOut))
            captureEnded(incident, at: now, &effects)
        case .dying:
            guard let end = budgetEnd, now >= end else { return }
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
                rebase(by: lateness, at: now, &effects)
            } else if phase == .launching, spec.readiness == .automatic, !hasSpoken {
                becomeReady(.assumed, at: now, &effects)
            } else {
                examine(at: now, &effects)
            }
        case .examining:
            decide(on: nil, at: now, &effects)
        case .paused(let pause, let since, let remaining, _):
            let next = now + spec.fairness.pauseInterval
            countdown?.condition = .paused(pause, since: since, remaining: remaining, nextLook: next)
            effects.append(.inspect)
        case .reported:
            break
        }
    }

    mutating func examine(at now: Instant, _ effects: inout [AppEffect]) {
        countdown?.condition = .examining(backstop: now + Countdown.examinationBudget)
        effects.append(.inspect)
    }

    mutating func inspected(_ evidence: Evidence, at now: Instant, _ effects: inout [AppEffect]) {
        guard let running = countdown else { return }
        switch running.condition {
        case .examining:
            if let pause = pause(in: evidence) {
                self.pause(pause, remaining: nil, at: now, &effects)
            } else if !grantCredit(for: evidence.runDelay, at: now, &effects) {
                decide(on: evidence, at: now, &effects)
            }
        case .paused(let pause, let since, let remaining, let nextLook):
            if let current = self.pause(in: evidence) {
                guard current != pause else { return }
                countdown?.condition = .paused(current, since: since, remaining: remaining, nextLook: nextLook)
                effects.append(.announce(.paused(current)))
            } else {
                resume(at: now, &effects)
            }
        case .counting, .reported:
            break
        }
    }

    /// An app that is asked to end gets SIGCONT with the request: that it is stopped is then no excuse.
    private func pause(in evidence: Evidence) -> Pause? {
        guard let pause = evidence.pause else { return nil }
        if case .terminating = phase, pause == .stopped { return nil }
        return pause
    }

    /// Once per countdown; true when the deadline moved.
    private mutating func grantCredit(
        for runDelay: Duration, at now: Instant, _ effects: inout [AppEffect]
    ) -> Bool {
        guard var running = countdown, running.credit == nil, running.cause == .exhausted else { return false }
        let floor = running.allowance * Double(spec.fairness.creditFloorPercent) / 100
        let cap = running.allowance * Double(spec.fairness.creditCapPercent) / 100
        let credit = min(runDelay, cap)
        guard credit > .zero, runDelay >= floor, running.deadline + credit > now else { return false }
        running.credit = credit
        running.condition = .counting
        running.postpone(by: credit)
        countdown = running
        effects.append(.announce(.starvationCredit(credit, event: running.event)))
        return true
    }

    private mutating func decide(on evidence: Evidence?, at now: Instant, _ effects: inout [AppEffect]) {
        guard let running = countdown else { return }
        incidentCount += 1
        let incident = Incident(
            id: incidentCount,
            event: running.event,
            cause: running.cause,
            allowance: running.allowance,
            startedAt: running.startedAt,
            deadline: running.deadline,
            decidedAt: now,
            credit: running.credit ?? .zero,
            extended: running.extended,
            paused: running.paused,
            rebases: running.rebases,
            evidence: evidence,
            isEnforced: spec.enforcement == .kill,
            isDeathVerified: nil
        )
        if case .terminating(let isRequested) = phase { wasTerminating = isRequested }
        phaseBeforeCapture = phase
        phase = .capturing(incident)
        budgetEnd = now + spec.captureBudget
        nextPing = nil
        nextProbe = nil
        effects += [.announce(.transgressed(incident)), .capture(incident)]
    }

    // MARK: - Clocks that do not count

    mutating func stopped(at now: Instant, _ effects: inout [AppEffect]) {
        guard let running = countdown, !isTerminating else { return }
        switch running.condition {
        case .counting:
            pause(.stopped, remaining: max(.zero, running.deadline - now), at: now, &effects)
        case .examining:
            pause(.stopped, remaining: nil, at: now, &effects)
        case .paused, .reported:
            break
        }
    }

    mutating func continued(at now: Instant, _ effects: inout [AppEffect]) {
        guard case .paused(.stopped, _, _, _) = countdown?.condition else { return }
        resume(at: now, &effects)
    }

    private mutating func pause(
        _ pause: Pause, remaining: Duration?, at now: Instant, _ effects: inout [AppEffect]
    ) {
        let nextLook = now + spec.fairness.pauseInterval
        countdown?.condition = .paused(pause, since: now, remaining: remaining, nextLook: nextLook)
        effects.append(.announce(.paused(pause)))
    }

    /// A pause that was seen to begin leaves what remained of the allowance; one that was found at the deadline may have
    /// lasted all the time, and leaves the whole allowance and demands that a fresh ping is missed.
    private mutating func resume(at now: Instant, _ effects: inout [AppEffect]) {
        guard var running = countdown, case .paused(_, let since, let remaining, _) = running.condition else { return }
        effects.append(.announce(.resumed(after: now - since)))
        running.paused += now - since
        running.condition = .counting
        running.deadline = now + (remaining ?? running.allowance)
        countdown = running
        if remaining == nil { refresh(at: now, &effects) }
    }

    mutating func machineResumed(_ suspension: Duration, at now: Instant, _ effects: inout [AppEffect]) {
        guard let running = countdown else { return }
        switch running.condition {
        case .counting, .examining:
            effects.append(.announce(.machineResumed(suspension: suspension)))
            rebase(by: running.allowance, at: now, &effects)
        case .paused, .reported:
            break
        }
    }

    /// The supervisor cannot vouch for the time that passed: what it missed is granted again, and an app that answers
    /// pings has to miss a fresh one.
    private mutating func rebase(by duration: Duration, at now: Instant, _ effects: inout [AppEffect]) {
        guard var running = countdown else { return }
        running.rebases += 1
        running.condition = .counting
        running.deadline = now + (running.event == .sceneUpdate ? running.allowance : min(duration, running.allowance))
        countdown = running
        refresh(at: now, &effects)
    }

    private mutating func refresh(at now: Instant, _ effects: inout [AppEffect]) {
        guard var running = countdown, running.event == .sceneUpdate, answersPings, phase == .running else {
            effects.append(.beginWindow)
            return
        }
        sendPing(at: now, &effects)
        running.startedAt = now
        running.paused = .zero
        running.deadline = now + running.allowance
        countdown = running
    }
}
