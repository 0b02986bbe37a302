// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// An incident that no answer of the app averts, waiting for the examination that confirms it.
///
/// It runs beside the allowance: no answer, fresh ping or extension cancels it. If the incident is only reported, the
/// allowance continues.
struct TriggerWatch: Hashable, Sendable {
    enum Reason: Hashable, Sendable, Codable {
        /// The app requested it.
        case asked
        case backgroundTasks
        case tooManyTasks
        case launchCPUTime(Duration)
        case backgroundCPUTime(Duration)
        case lockedFiles([LockedFile])

        private enum CodingKeys: String, CodingKey {
            case asked, backgroundTasks, tooManyTasks, launchCPUTime, backgroundCPUTime, lockedFiles
        }
    }

    enum Outcome {
        case nothing
        case decided
        /// Background tasks get until this judgement's deadline.
        case postponed(Judgement)
    }

    let reason: Reason
    private(set) var judgement: Judgement

    init(_ reason: Reason, _ judgement: Judgement, _ turn: inout Turn) {
        self.reason = reason
        self.judgement = judgement
        if case .inspect(let id) = self.judgement.examine(at: turn.now, &turn.numbers) {
            turn.perform(.inspect(id: id))
        }
    }

    var due: Instant? { judgement.due }

    /// Handles what happens to the process.
    ///
    /// - Parameter tasksRunDelay: how long the app's background tasks have waited for a CPU.
    mutating func handle(_ event: WatchEvent, tasksRunDelay: Duration = .zero, _ turn: inout Turn) -> Outcome {
        var terms = terms(turn)
        switch event {
        case .due: return follow(judgement.due(at: turn.now, terms, &turn.numbers), &turn)
        case .inspected(let id, let evidence):
            if reason == .backgroundTasks { terms.runDelay = tasksRunDelay }
            return follow(judgement.inspected(id, evidence, at: turn.now, terms), &turn)
        case .returned: return follow(judgement.returned(at: turn.now, terms, &turn.numbers), &turn)
        case .stopped, .continued, .machineResumed, .captureEnded: return .nothing
        }
    }

    func end(_ turn: inout Turn) {
        guard let since = judgement.pausedSince else { return }
        turn.announce(.resumed(after: turn.now - since))
    }

    /// Tasks get time to end if somebody held the app, or the machine had no CPU for it.
    private func terms(_ turn: Turn) -> Terms {
        var terms = Terms(turn.spec.fairness)
        terms.isSuspended = turn.isSuspended
        if reason == .backgroundTasks { terms.recovery = turn.spec.lifecycle.expiration }
        return terms
    }

    private mutating func follow(_ step: Judgement.Step, _ turn: inout Turn) -> Outcome {
        switch step {
        case .nothing, .overslept: return .nothing
        case .inspect(let id): turn.perform(.inspect(id: id))
        case .paused(let pause): turn.announce(.paused(pause))
        case .resumed(let duration, _):
            turn.announce(.resumed(after: duration))
            return judgement.isDecided ? .decided : .postponed(judgement)
        case .credited(let credit):
            turn.announce(.starvationCredit(credit, event: judgement.event))
            turn.perform(.grant(judgement.deadline - turn.now))
            return .postponed(judgement)
        case .decided: return .decided
        }
        return .nothing
    }
}

extension TriggerWatch {
    init(_ saved: SavedTrigger) {
        reason = saved.reason
        judgement = Judgement(saved.judgement)
    }

    var saved: SavedTrigger { SavedTrigger(reason: reason, judgement: judgement.saved) }
}
