// SPDX-License-Identifier: Apache-2.0

extension AppMachine {
    var isTerminating: Bool {
        if case .terminating = phase { return true }
        return false
    }

    mutating func terminate(isRequested: Bool, at now: Instant, _ effects: inout [AppEffect]) {
        switch phase {
        case .idle:
            guard isRequested else { return }
            finish(.terminated, verified: true, &effects)
        case .launching, .running:
            beginTermination(isRequested: isRequested, at: now, &effects)
        case .terminating(isRequested: false):
            guard isRequested else { return }
            phase = .terminating(isRequested: true)
            effects.append(.terminate)
        case .terminating(isRequested: true):
            guard isRequested else { return }
            isKilledOnRequest = true
            beginDying(at: now, &effects)
        case .capturing, .dying, .ended:
            break
        }
    }

    private mutating func beginTermination(isRequested: Bool, at now: Instant, _ effects: inout [AppEffect]) {
        phase = .terminating(isRequested: isRequested)
        countdown = Countdown(.processExit, from: now, allowance: spec.allowances.terminate)
        nextPing = nil
        nextProbe = nil
        effects += [.announce(.terminating(isRequested: isRequested)), .beginWindow]
        if isRequested { effects.append(.terminate) }
    }

    mutating func captured(at now: Instant, _ effects: inout [AppEffect]) {
        guard case .capturing(let incident) = phase else { return }
        captureEnded(incident, at: now, &effects)
    }

    /// Ends the capturing phase: towards death when the incident is enforced, else back to where the app was.
    mutating func captureEnded(_ incident: Incident, at now: Instant, _ effects: inout [AppEffect]) {
        budgetEnd = nil
        guard !incident.isEnforced else {
            killed = incident
            beginDying(at: now, &effects)
            return
        }
        keep(incident)
        effects.append(.report(incident))
        phase = phaseBeforeCapture
        countdown?.condition = .reported
        guard exitStatus == nil else {
            beginDying(at: now, &effects)
            return
        }
        if phase == .launching, spec.readiness.isProbed { nextProbe = now + spec.probeInterval }
        let events = deferred
        deferred = []
        for event in events { perform(event, at: now, &effects) }
    }

    mutating func beginDying(at now: Instant, _ effects: inout [AppEffect]) {
        if case .terminating(let isRequested) = phase { wasTerminating = isRequested }
        phase = .dying
        countdown = nil
        nextPing = nil
        nextProbe = nil
        budgetEnd = now + spec.deathBudget
        effects.append(.killTree)
        concludeIfDead(&effects)
    }

    mutating func exited(_ status: ExitStatus, at now: Instant, _ effects: inout [AppEffect]) {
        guard exitStatus == nil else { return }
        switch phase {
        case .idle, .ended:
            return
        case .launching, .running, .terminating:
            exitStatus = status
            effects.append(.announce(.exited(status)))
            beginDying(at: now, &effects)
        case .capturing:
            exitStatus = status
            effects.append(.announce(.exited(status)))
        case .dying:
            exitStatus = status
            effects.append(.announce(.exited(status)))
            concludeIfDead(&effects)
        }
    }

    mutating func treeEmptied(at now: Instant, _ effects: inout [AppEffect]) {
        guard phase == .dying else { return }
        isTreeEmpty = true
        concludeIfDead(&effects)
    }

    private mutating func concludeIfDead(_ effects: inout [AppEffect]) {
        guard phase == .dying, isTreeEmpty, exitStatus != nil else { return }
        concludeDeath(verified: true, &effects)
    }

    mutating func concludeDeath(verified: Bool, _ effects: inout [AppEffect]) {
        if var incident = killed {
            incident.isDeathVerified = verified
            killed = nil
            keep(incident)
            effects.append(.report(incident))
            finish(.watchdog(incident), verified: verified, &effects)
        } else if isKilledOnRequest {
            finish(.killedOnRequest, verified: verified, &effects)
        } else {
            finish(wasTerminating == true ? .terminated : .exited, verified: verified, &effects)
        }
    }

    private mutating func keep(_ incident: Incident) {
        if incidents.count == 64 { incidents.removeFirst() }
        incidents.append(incident)
    }

    mutating func finish(_ cause: Outcome.Cause, verified: Bool, _ effects: inout [AppEffect]) {
        let outcome = Outcome(cause: cause, status: exitStatus, isDeathVerified: verified)
        phase = .ended(outcome)
        budgetEnd = nil
        effects.append(.finish(outcome))
    }
}
