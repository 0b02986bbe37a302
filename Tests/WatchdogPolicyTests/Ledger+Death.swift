// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

/// The end of the tree, after the main process or with it.
extension Ledger {
    mutating func bookTreeTermination(at now: Instant) -> String? {
        guard isExited, capture == nil, stage != .dying else { return "asked the tree at \(stage)" }
        bookDying()
        askEnd = now + spec.allowances.terminate
        return nil
    }

    mutating func bookKill(_ happened: ProcessEvent, at now: Instant) -> String? {
        kills += 1
        if let open = capture {
            guard open.incident.isEnforced else { return "killed before the report" }
            condemned = open.incident
            capture = nil
        } else {
            let isOverdue = askEnd.map { now >= $0 || happened == .terminateRequested } ?? false
            guard isOverdue || requests > 1 else { return "killed without a reason" }
        }
        bookDying()
        askEnd = nil
        deathEnd = now + spec.deathBudget
        return kills == 1 ? nil : "killed twice"
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
