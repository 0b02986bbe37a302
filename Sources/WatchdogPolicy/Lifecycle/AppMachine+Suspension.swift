// SPDX-License-Identifier: Apache-2.0

extension AppMachine {
    /// What was due is due no longer: the app gets fresh allowances when it runs again.
    mutating func freeze(at now: Instant, _ effects: inout [AppEffect]) {
        announceResumed(at: now, &effects)
        countdown = nil
        nextPing = nil
        endStay()
        suspendLiveness(at: now, &effects)
        lifecycle.freeze = .asked(since: now, backstop: now + Lifecycle.freezeBudget)
        effects.append(.lifecycle(.freeze))
    }

    /// An answer that comes after the backstop still tells of locks.
    mutating func froze(_ locks: [LockedFile], at now: Instant, _ effects: inout [AppEffect]) {
        switch lifecycle.freeze {
        case .asked(let since, _):
            lifecycle.foundLocks = locks
            becomeFrozen(since: since, hasReport: true, at: now, &effects)
        case .frozen(let since, hasReport: false):
            lifecycle.foundLocks = locks
            lifecycle.freeze = .frozen(since: since, hasReport: true)
            pursueGoal(at: now, &effects)
        case .frozen, nil:
            break
        }
    }

    mutating func becomeFrozen(since: Instant, hasReport: Bool, at now: Instant, _ effects: inout [AppEffect]) {
        lifecycle.freeze = .frozen(since: now, hasReport: hasReport)
        enter(.suspended, at: now)
        effects.append(.announce(.lifecycle(.suspended(after: now - since))))
        pursueGoal(at: now, &effects)
    }

    /// Others wait for the locks of an app that does not run.
    ///
    /// A program that knows nothing of suspension may hold a lock all its life: that is no mistake of it.
    mutating func judgeLocks(at now: Instant, _ effects: inout [AppEffect]) {
        let locks = lifecycle.foundLocks
        guard !locks.isEmpty else { return }
        lifecycle.foundLocks = []
        guard lifecycle.record.takesPart else {
            effects.append(.announce(.lifecycle(.locksHeld(locks))))
            return
        }
        beginTrigger(
            .lockedFiles(locks), Countdown(.suspension, from: now, allowance: .zero), at: now, &effects)
    }

    mutating func thaw(at now: Instant, _ effects: inout [AppEffect]) {
        guard case .frozen(let since, _) = lifecycle.freeze else { return }
        lifecycle.freeze = nil
        lifecycle.foundLocks = []
        lifecycle.resumeStart = lifecycle.askedAt ?? now
        enter(lifecycle.visibility == .foreground ? .foreground : .background, at: now)
        effects += [.lifecycle(.thaw), .announce(.lifecycle(.resumed(after: now - since)))]
        if answersPings {
            sendPing(at: now, &effects)
        } else {
            if pushes { expectPush(at: now, &effects) }
            resumeAnswered(at: now, &effects)
        }
        if lifecycle.visibility == .background, lifecycle.goal == .background { beginStay(at: now, &effects) }
    }

    /// A resume is over with the first answer of the main loop, in the state that was asked for.
    mutating func resumeAnswered(at now: Instant, _ effects: inout [AppEffect]) {
        guard let start = lifecycle.resumeStart, !lifecycle.isMoving else { return }
        lifecycle.resumeStart = nil
        lifecycle.record.resumes.record(now - start)
        effects.append(.announce(.lifecycle(.responsive(after: now - start))))
    }
}
