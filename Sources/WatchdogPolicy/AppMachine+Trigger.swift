// SPDX-License-Identifier: Apache-2.0

extension AppMachine {
    /// An incident that nothing can avert any more but a second look, before it is decided.
    ///
    /// It runs beside the allowance: neither an answer, a fresh ping nor an extension takes the app's word back, and where
    /// the incident is only reported, the allowance goes on.
    struct Trigger: Hashable, Sendable, Codable {
        enum Reason: Hashable, Sendable, Codable {
            /// The app asked for it.
            case asked
            case backgroundTasks
            case tooManyTasks
            case launchCPUTime(Duration)
            case backgroundCPUTime(Duration)
            case lockedFiles([LockedFile])
        }

        let reason: Reason
        /// What the app was watched for when it came about.
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
            beginTrigger(.asked, basis, at: now, &effects)
        case .idle, .terminating, .dying, .ended:
            break
        }
    }

    mutating func beginTrigger(
        _ reason: Trigger.Reason, _ basis: Countdown, at now: Instant, _ effects: inout [AppEffect]
    ) {
        guard trigger == nil, capture == nil else { return }
        trigger = Trigger(reason: reason, basis: basis, due: now + Countdown.examinationBudget)
        effects.append(.inspect)
    }

    var triggerDeadline: Instant? { $trigger.isEmpty ? nil : trigger?.due }

    mutating func triggerDue(at now: Instant, _ effects: inout [AppEffect]) {
        guard !$trigger.isEmpty, let asked = trigger, now >= asked.due else { return }
        guard asked.pausedSince != nil else {
            decideTrigger(on: nil, at: now, &effects)
            return
        }
        let due = now + spec.fairness.pauseInterval
        trigger?.due = due
        effects.append(.inspect)
    }

    mutating func triggerInspected(_ evidence: Evidence, at now: Instant, _ effects: inout [AppEffect]) {
        guard let asked = trigger else { return }
        if let pause = pause(in: evidence) {
            guard asked.pausedSince == nil else { return }
            let due = now + spec.fairness.pauseInterval
            trigger?.pausedSince = now
            trigger?.due = due
            effects.append(.announce(.paused(pause)))
        } else if asked.reason == .backgroundTasks, isPutOff(asked, at: now, &effects) {
            trigger = nil
            pursueGoal(at: now, &effects)
        } else {
            decideTrigger(on: evidence, at: now, &effects)
        }
    }

    /// Tasks get time to end where somebody held the app, or the machine had no CPU for it.
    private mutating func isPutOff(_ asked: Trigger, at now: Instant, _ effects: inout [AppEffect]) -> Bool {
        guard let since = asked.pausedSince else { return creditTasks(at: now, &effects) }
        effects.append(.announce(.resumed(after: now - since)))
        let end = now + spec.lifecycle.expiration
        lifecycle.stay?.end = end
        return true
    }

    mutating func dropTrigger(at now: Instant, _ effects: inout [AppEffect]) {
        if let since = trigger?.pausedSince { effects.append(.announce(.resumed(after: now - since))) }
        trigger = nil
    }

    private mutating func decideTrigger(on evidence: Evidence?, at now: Instant, _ effects: inout [AppEffect]) {
        guard let asked = trigger else { return }
        let tasks = lifecycle.record.openTasks
        let cause: Incident.Cause
        switch asked.reason {
        case .asked: cause = .triggered
        case .backgroundTasks:
            let stay = lifecycle.stay
            lifecycle.stay?.isOver = true
            // Where it is only reported, what would have followed without the tasks follows.
            if spec.lifecycle.idle != nil, lifecycle.goal == .background { lifecycle.goal = .suspended }
            let isBusy = stay.map { $0.runDelay * 2 >= now - $0.since } ?? false
            cause = .backgroundTasks(Array(tasks.prefix(Self.namedTasks)), isMachineBusy: isBusy)
        case .tooManyTasks: cause = .tooManyTasks(tasks.count, first: Array(tasks.prefix(Self.namedTasks)))
        case .launchCPUTime(let used): cause = .launchCPUTime(used: used)
        case .backgroundCPUTime(let used): cause = .backgroundCPUTime(used: used)
        case .lockedFiles(let files): cause = .lockedFiles(files)
        }
        decide(cause, asked.basis, on: evidence, at: now, &effects)
    }

    /// How many open tasks an incident names.
    private static let namedTasks = 64
}
