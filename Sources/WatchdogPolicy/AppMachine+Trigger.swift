// SPDX-License-Identifier: Apache-2.0

extension AppMachine {
    /// An incident that the app asked for, before it is decided.
    ///
    /// It runs beside the allowance: neither an answer, a fresh ping nor an extension takes the app's word back, and where
    /// the incident is only reported, the allowance goes on.
    struct Trigger: Hashable, Sendable, Codable {
        /// What the app was watched for when it spoke.
        var basis: Countdown
        /// The next look, or the end of the wait for the one that is under way.
        var due: Instant
        /// Since when the process does not run by someone else's will: nothing is decided then.
        var pausedSince: Instant?
    }

    mutating func watchdogTriggered(at now: Instant, _ effects: inout [AppEffect]) {
        hasSpoken = true
        switch life {
        case .launching, .running:
            guard trigger == nil, !isInIncident else { return }
            if countdown == nil { effects.append(.beginWindow) }
            var basis = countdown ?? Countdown(.sceneUpdate, from: now, allowance: .zero)
            basis.deadline = now
            trigger = Trigger(basis: basis, due: now + Countdown.examinationBudget)
            effects.append(.inspect)
        case .idle, .terminating, .dying, .ended:
            break
        }
    }

    mutating func triggerDue(at now: Instant, _ effects: inout [AppEffect]) {
        guard let asked = trigger, now >= asked.due else { return }
        guard asked.pausedSince != nil else {
            decideTrigger(on: nil, at: now, &effects)
            return
        }
        trigger?.due = now + spec.fairness.pauseInterval
        effects.append(.inspect)
    }

    mutating func triggerInspected(_ evidence: Evidence, at now: Instant, _ effects: inout [AppEffect]) {
        guard let asked = trigger else { return }
        if let pause = evidence.pause {
            guard asked.pausedSince == nil else { return }
            trigger?.pausedSince = now
            trigger?.due = now + spec.fairness.pauseInterval
            effects.append(.announce(.paused(pause)))
        } else {
            decideTrigger(on: evidence, at: now, &effects)
        }
    }

    mutating func dropTrigger(at now: Instant, _ effects: inout [AppEffect]) {
        if let since = trigger?.pausedSince { effects.append(.announce(.resumed(after: now - since))) }
        trigger = nil
    }

    private mutating func decideTrigger(on evidence: Evidence?, at now: Instant, _ effects: inout [AppEffect]) {
        guard let asked = trigger else { return }
        decide(.triggered, asked.basis, on: evidence, at: now, &effects)
    }
}
