// SPDX-License-Identifier: Apache-2.0

extension AppMachine {
    /// When an allowance that begins now is worth a look from outside; nil when that is not wanted.
    ///
    /// An app that pushes chooses its own rhythm and is silent for most of its allowance: half of it is no sign.
    func observation(of running: Countdown) -> Instant? {
        guard let delay = spec.observationDelay else { return nil }
        let half = (running.deadline - running.windowStart) / 2
        guard running.event == .sceneUpdate else { return running.windowStart + half }
        return running.windowStart + (pushes ? half + half / 2 : min(half, delay))
    }

    /// Begins to observe at half of an allowance, and lets go when the allowance has ended or begun anew.
    mutating func followObservation(since before: Countdown?, at now: Instant, _ effects: inout [AppEffect]) {
        if isObserving, !isObserved(countdown) {
            isObserving = false
            effects.insert(.endObservation(endedHang(before, at: now)), at: 0)
        }
        guard var running = countdown, running.observation == nil else { return }
        running.observation = observation(of: running).map { .at($0) } ?? .never
        countdown = running
    }

    mutating func observe(_ effects: inout [AppEffect]) {
        countdown?.observation = .begun
        isObserving = true
        effects.append(.observe)
    }

    private func isObserved(_ countdown: Countdown?) -> Bool { countdown?.observation == .begun }

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
