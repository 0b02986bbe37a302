// SPDX-License-Identifier: Apache-2.0

extension AppMachine {
    var isTerminating: Bool {
        if case .terminating = life { return true }
        return false
    }

    mutating func terminate(isRequested: Bool, at now: Instant, _ effects: inout [AppEffect]) {
        switch life {
        case .idle:
            guard isRequested else { return }
            guard !isSpawning else {
                requestsWhileSpawning = min(2, requestsWhileSpawning + 1)
                return
            }
            finish(.terminated, verified: true, &effects)
        case .launching, .running:
            guard lifecycle.freeze == nil else {
                terminateSuspended(isRequested: isRequested, at: now, &effects)
                return
            }
            beginTermination(isRequested: isRequested, at: now, &effects)
        case .terminating(isRequested: false):
            guard isRequested else { return }
            life = .terminating(isRequested: true)
            effects += [.announce(.terminating(isRequested: true)), .terminate]
        case .terminating(isRequested: true):
            guard isRequested else { return }
            guard capture == nil else {
                capture?.isKillRequested = true
                return
            }
            isKilledOnRequest = true
            beginDying(at: now, &effects)
        case .dying, .ended:
            break
        }
    }

    /// A suspended app hears nothing of its end.
    ///
    /// Its own last word was on the way when it was frozen: it may act on it.
    private mutating func terminateSuspended(isRequested: Bool, at now: Instant, _ effects: inout [AppEffect]) {
        guard isRequested else {
            effects.append(.lifecycle(.thaw))
            beginTermination(isRequested: false, at: now, &effects)
            return
        }
        guard capture == nil else {
            capture?.isKillRequested = true
            return
        }
        isKilledOnRequest = true
        beginDying(at: now, &effects)
    }

    private mutating func beginTermination(isRequested: Bool, at now: Instant, _ effects: inout [AppEffect]) {
        announceResumed(at: now, &effects)
        dropTrigger(at: now, &effects)
        dropLiveness(&effects)
        life = .terminating(isRequested: isRequested)
        countdown = Countdown(.processExit, from: now, allowance: spec.allowances.terminate)
        lifecycle.end()
        enter(.terminating, at: now)
        nextPing = nil
        nextProbe = nil
        effects += [.announce(.terminating(isRequested: isRequested)), .beginWindow]
        if isRequested { effects.append(.terminate) }
    }

    mutating func captured(at now: Instant, _ effects: inout [AppEffect]) {
        guard let capture else { return }
        captureEnded(capture, at: now, &effects)
    }

    /// Goes on towards death when the incident is enforced, when the app died meanwhile, or when somebody insisted.
    mutating func captureEnded(_ ended: Capture, at now: Instant, _ effects: inout [AppEffect]) {
        capture = nil
        if ended.incident.isEnforced {
            killed = ended.incident
        } else {
            keep(ended.incident)
            effects.append(.report(ended.incident))
            guard exitStatus != nil || ended.isKillRequested else {
                // An answer that came meanwhile was not heard.
                if case .examining = countdown?.condition { examine(at: now, &effects) }
                livenessAfterCapture(at: now, &effects)
                pursueGoal(at: now, &effects)
                return
            }
            isKilledOnRequest = exitStatus == nil
        }
        beginDying(at: now, &effects)
    }

    mutating func beginDying(at now: Instant, _ effects: inout [AppEffect]) {
        if case .terminating(let isRequested) = life { wasTerminating = isRequested }
        life = .dying
        countdown = nil
        trigger = nil
        nextPing = nil
        nextProbe = nil
        dropLiveness(&effects)
        lifecycle.end()
        deathBudgetEnd = now + spec.deathBudget
        effects.append(.killTree)
        concludeIfDead(&effects)
    }

    mutating func exited(_ status: ExitStatus, at now: Instant, _ effects: inout [AppEffect]) {
        guard exitStatus == nil, life != .idle else { return }
        exitStatus = status
        effects.append(.announce(.exited(status)))
        if life == .dying {
            concludeIfDead(&effects)
        } else if capture == nil {
            beginDying(at: now, &effects)
        }
    }

    /// Counts only after the main process ended or was killed: a tree that is empty before that is about to be asked for
    /// again by ``AppEffect/killTree``.
    mutating func treeEmptied(at now: Instant, _ effects: inout [AppEffect]) {
        guard life == .dying || exitStatus != nil || capture?.incident.isEnforced == true else { return }
        isTreeEmpty = true
        concludeIfDead(&effects)
    }

    private mutating func concludeIfDead(_ effects: inout [AppEffect]) {
        guard life == .dying, isTreeEmpty, exitStatus != nil else { return }
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
        life = .ended(outcome)
        deathBudgetEnd = nil
        effects.append(.finish(outcome))
    }
}
