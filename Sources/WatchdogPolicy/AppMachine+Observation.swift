// SPDX-License-Identifier: Apache-2.0

extension AppMachine {
    /// When the allowance that runs is worth a look from outside; nil when it is looked at already, or never is.
    ///
    /// An app that pushes chooses its own rhythm and is silent for most of its allowance: half of it is no sign.
    var observationDue: Instant? {
        guard let delay = spec.observationDelay, let running = countdown, running.condition == .counting,
            !running.isObserved
        else { return nil }
        let half = (running.deadline - running.windowStart) / 2
        let wait = running.event != .sceneUpdate ? half : pushes ? half + half / 2 : min(half, delay)
        let due = onTick(running.windowStart + wait)
        return due < running.deadline ? due : nil
    }

    mutating func observe(_ effects: inout [AppEffect]) {
        countdown?.isObserved = true
        isObserving = true
        effects.append(.observe)
    }

    /// Lets go when the allowance has ended or begun anew.
    mutating func followObservation(since before: Countdown?, at now: Instant, _ effects: inout [AppEffect]) {
        guard isObserving, countdown?.isObserved != true else { return }
        isObserving = false
        effects.insert(.endObservation(endedHang(before, at: now)), at: 0)
    }

    /// A silence that ended while its allowance was counting; one that was an incident has its report.
    private func endedHang(_ before: Countdown?, at now: Instant) -> Hang? {
        guard let before, before.event == .sceneUpdate, !pushes, life == .running, capture == nil, exitStatus == nil
        else { return nil }
        switch before.condition {
        case .counting, .examining:
            return Hang(
                event: before.event, startedAt: before.startedAt, duration: before.elapsed(at: now),
                allowance: before.allowance)
        case .paused, .decided:
            return nil
        }
    }
}
