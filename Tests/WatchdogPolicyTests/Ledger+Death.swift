// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

/// The end of the tree, with or after the main process.
extension Ledger {
    mutating func bookTreeTermination(at now: Instant) -> String? {
        guard isExited, capture == nil, stage != .dying else { return "asked the tree at \(stage)" }
        bookDying()
        isAsking = true
        begin(.processExit, spec.allowances.terminate, at: now)
        return nil
    }

    mutating func bookKill(_ happened: ProcessEvent, at now: Instant) -> String? {
        kills += 1
        if let open = capture {
            guard open.incident.isEnforced else { return "killed before the report" }
            condemned = open.incident
            capture = nil
        } else {
            guard isAskingOver(happened, at: now) || requests > 1 else { return "killed without a reason" }
        }
        bookDying()
        isAsking = false
        deathEnd = now + spec.deathBudget
        return kills == 1 ? nil : "killed twice"
    }

    private func isAskingOver(_ happened: ProcessEvent, at now: Instant) -> Bool {
        guard isAsking else { return false }
        if happened == .terminateRequested { return true }
        guard case .looking(let end) = clock, now >= until else { return false }
        return switch happened {
        case .deadlineReached: now >= end
        case .inspected(_, let evidence): answering == .clock && [nil, .stopped].contains(evidence.pause)
        default: false
        }
    }

    private mutating func bookDying() {
        probes.bookEnd()
        stage = .dying
        clock = .none
        trigger = nil
        nextPing = nil
        nextProbe = nil
    }
}
