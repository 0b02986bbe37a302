// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// What is known of the end of a process and its tree.
struct Death: Hashable, Sendable {
    /// What was done last to end the tree.
    private enum Rung: Hashable, Sendable {
        case none
        /// What the main process left behind was asked to end, and has an allowance for it.
        indirect case asked(AllowanceWatch)
        /// It was killed; survivors count as unkillable from this instant on.
        case killed(budgetEnd: Instant)
    }

    private var rung = Rung.none
    /// How the main process ended.
    private(set) var status: ExitStatus?
    private var isTreeEmpty = false
    /// Whether the end was requested twice.
    private var isKillRequested = false
    /// Whether the app had been asked to end.
    private var wasRequested = false

    var isVerified: Bool { isTreeEmpty && status != nil }
    /// Whether what the main process left behind was asked to end and still has time.
    var isAsking: Bool { if case .asked = rung { true } else { false } }
    /// When something must happen if the tree is not empty by then.
    var due: Instant? {
        switch rung {
        case .none: nil
        case .asked(let allowance): allowance.judgement.due
        case .killed(let budgetEnd): budgetEnd
        }
    }

    /// Records the end of the main process; returns false if it was known.
    mutating func exited(_ status: ExitStatus) -> Bool {
        guard self.status == nil else { return false }
        self.status = status
        return true
    }

    mutating func treeEmptied() { isTreeEmpty = true }
    mutating func requestKill() { isKillRequested = true }

    /// Ends what remains of the tree.
    ///
    /// - Parameter isAsked: whether its processes are asked first, because the main process ended by itself.
    mutating func begin(isAsked: Bool, _ turn: inout Turn) {
        wasRequested = turn.life == .terminating(isRequested: true)
        guard isAsked else { return kill(&turn) }
        rung = .asked(
            .termination(isRequested: true, at: turn.now, allowance: turn.spec.allowances.terminate))
        turn.perform(.terminateTree)
    }

    /// Kills what remains of the tree.
    mutating func kill(_ turn: inout Turn) {
        rung = .killed(budgetEnd: turn.now + turn.spec.deathBudget)
        turn.perform(.killTree)
    }

    /// Whether survivors count as unkillable.
    func isBudgetSpent(at now: Instant) -> Bool {
        if case .killed(let budgetEnd) = rung { now >= budgetEnd } else { false }
    }

    /// Asks or kills again; those that are asked get no more time than they have left.
    mutating func returned(_ turn: inout Turn) {
        guard isAsking else { return kill(&turn) }
        turn.perform(.terminateTree)
        handle(.returned, &turn)
    }

    /// Judges the allowance of those that were asked, and kills them when it is exhausted.
    mutating func handle(_ event: WatchEvent, _ turn: inout Turn) {
        guard case .asked(var allowance) = rung else { return }
        let outcome = allowance.handle(event, &turn)
        rung = .asked(allowance)
        if case .decided = outcome { kill(&turn) }
    }

    mutating func conclude() { rung = .none }

    /// The cause of the end.
    ///
    /// - Parameter incident: the incident that the app was killed for, if any.
    func cause(_ incident: Incident?) -> Outcome.Cause {
        if let incident { return .watchdog(incident) }
        if isKillRequested { return .killedOnRequest }
        return wasRequested ? .terminated : .exited
    }
}

extension Death {
    /// - Parameter allowance: the allowance of those that are asked; of one in progress, only the end is saved.
    init(_ saved: SavedDeath, allowance: Duration) {
        if let end = saved.allowanceEnd {
            rung = .asked(.termination(isRequested: true, at: end - allowance, allowance: allowance))
        } else if let end = saved.budgetEnd {
            rung = .killed(budgetEnd: end)
        }
        status = saved.status
        isTreeEmpty = saved.isTreeEmpty
        isKillRequested = saved.isInsisted
        wasRequested = saved.wasRequested
    }

    var saved: SavedDeath {
        var (allowanceEnd, budgetEnd): (Instant?, Instant?)
        switch rung {
        case .none: break
        case .asked(let allowance): allowanceEnd = allowance.judgement.deadline
        case .killed(let end): budgetEnd = end
        }
        return SavedDeath(
            allowanceEnd: allowanceEnd, budgetEnd: budgetEnd, status: status, isTreeEmpty: isTreeEmpty,
            isInsisted: isKillRequested, wasRequested: wasRequested)
    }
}
