// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

/// The app's messages, booked after their effects.
extension Ledger {
    mutating func bookWords(_ happened: ProcessEvent, at now: Instant) {
        switch happened {
        case .notified, .ready, .watchdogTriggered, .extensionRequested:
            hasSpoken = true
        case .hello:
            hasSpoken = true
            guard !answersPings else { return }
            answersPings = true
            if stage == .launching, clock == .counting { event = .sceneCreate }
            if stage == .running { pushes = false }
        case .watchdogPinged:
            hasSpoken = true
            guard !answersPings, pushAllowance != .zero else { return }
            pushes = true
            if stage == .running { begin(.sceneUpdate, pushAllowance ?? spec.allowances.update, at: now) }
        case .watchdogIntervalChanged(let interval):
            hasSpoken = true
            guard !answersPings else { return }
            pushAllowance = max(.zero, interval)
            pushes = interval > .zero
            guard stage == .running else { return }
            clock = .none
            if pushes { begin(.sceneUpdate, interval, at: now) }
        case .ponged(let nonce):
            guard let index = outstanding.firstIndex(of: nonce) else {
                strays += 1
                return
            }
            outstanding.removeSubrange(...index)
            guard answersPings else {
                answersPings = true
                if stage == .running { pushes = false }
                return
            }
            guard stage == .running, clock != .none, event == .sceneUpdate else { return }
            clock = .none
            nextPing = max(now, nearestTick(to: (lastPing ?? now) + spec.pingInterval))
        case .probed(isReady: false):
            guard stage == .launching, spec.readiness.isProbed else { return }
            nextProbe = now + min(spec.probeInterval, max(.milliseconds(5), now - launchedAt))
        case .launchRequested, .spawned, .spawnFailed, .probed, .livenessProbed, .stopping, .terminateRequested,
            .stopped, .continued, .machineResumed, .deadlineReached, .inspected, .captured, .exited, .treeEmptied,
            .supervisorReturned, .adopted, .channelLost, .lifecycle:
            break
        }
    }

    /// A missing effect that was due.
    func omission(in happened: ProcessEvent, at now: Instant) -> String? {
        if case .deadlineReached = happened, capture == nil, clock == .counting, now >= until,
            stage != .over, stage != .idle
        {
            return "nothing was done at \(now) although \(event) was granted until \(until)"
        }
        return nil
    }

    mutating func bookEnd(_ outcome: Outcome, isLast: Bool) -> String? {
        stage = .over
        guard isLast else { return "the end is not the last effect" }
        guard decided == reported else { return "\(decided) incidents, \(reported) reports" }
        guard deathEnd != nil || isAsking else {
            return outcome.cause == .spawnFailed || spawns == 0 ? nil : "ended without a kill"
        }
        return outcome.isDeathVerified == (isExited && isEmpty) ? nil : "the death is not as it was seen"
    }
}
