// SPDX-License-Identifier: Apache-2.0

extension AppMachine {
    /// Does again what can have been lost with the supervisor before this one, where doing it twice does no harm.
    ///
    /// An app answers a state that it has heeded before once more; a frozen app is frozen again.
    mutating func returnToLifecycle(at now: Instant, _ effects: inout [AppEffect]) {
        guard life == .running else { return }
        switch lifecycle.freeze {
        case .asked(let since, _):
            lifecycle.freeze = .asked(since: since, backstop: now + Lifecycle.freezeBudget)
            effects.append(.lifecycle(.freeze))
        case .frozen:
            effects.append(.lifecycle(.freeze))
        case nil:
            // What was saved before it was done may not have been done.
            if lifecycle.record.moments.contains(where: { $0.state == .suspended }) {
                effects.append(.lifecycle(.thaw))
            }
            for obligation in lifecycle.obligations {
                guard case .state(let visibility, let id) = obligation.kind else { continue }
                let time = visibility == .background ? spec.lifecycle.background : nil
                effects.append(.lifecycle(.enter(visibility, id: id, backgroundTime: time)))
            }
            stayResumed(at: now)
        }
    }

    /// Nothing can be asked of the app any more, and what it would have told is not heard.
    mutating func leaveLifecycle(at now: Instant, _ effects: inout [AppEffect]) {
        guard lifecycle.record.takesPart else { return }
        if case .backgroundTasks = trigger?.reason { dropTrigger(at: now, &effects) }
        if countdown?.isForObligation == true, countdown?.condition != .decided {
            announceResumed(at: now, &effects)
            countdown = nil
        }
        lifecycle.record.takesPart = false
        lifecycle.record.openTasks = []
        lifecycle.obligations = []
        lifecycle.taskWarning = nil
        lifecycle.floodedAt = nil
        lifecycle.resumeStart = nil
        endStay()
        pursueGoal(at: now, &effects)
    }
}
