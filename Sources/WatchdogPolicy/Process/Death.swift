// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// What is known of the end of a process and its tree.
struct Death: Hashable, Sendable {
    /// When what the main process left behind is killed; nil unless it was asked to end.
    private var allowanceEnd: Instant?
    /// When survivors count as unkillable; nil until the tree is killed.
    private var budgetEnd: Instant?
    /// How the main process ended.
    private(set) var status: ExitStatus?
    private var isTreeEmpty = false
    /// Whether the end was requested twice.
    private var isInsisted = false
    /// Whether the app had been asked to end.
    private var wasRequested = false

    var isVerified: Bool { isTreeEmpty && status != nil }
    /// Whether what the main process left behind was asked to end and still has time.
    var isAsking: Bool { allowanceEnd != nil }
    /// When something must happen if the tree is not empty by then.
    var due: Instant? { allowanceEnd ?? budgetEnd }

    /// Records the end of the main process; returns false if it was known.
    mutating func exited(_ status: ExitStatus) -> Bool {
        guard self.status == nil else { return false }
        self.status = status
        return true
    }

    mutating func treeEmptied() { isTreeEmpty = true }
    mutating func insist() { isInsisted = true }

    /// Ends what remains of the tree.
    ///
    /// - Parameter isAsked: whether its processes are asked first, because the main process ended by itself.
    mutating func begin(isAsked: Bool, _ turn: inout Turn) {
        wasRequested = turn.life == .terminating(isRequested: true)
        if isAsked { allowanceEnd = turn.now + turn.spec.allowances.terminate }
        repeatLast(&turn)
    }

    /// Kills what remains of the tree.
    mutating func kill(_ turn: inout Turn) {
        allowanceEnd = nil
        budgetEnd = turn.now + turn.spec.deathBudget
        turn.perform(.killTree)
    }

    /// Asks or kills; those that are asked get no more time than they have left.
    mutating func repeatLast(_ turn: inout Turn) {
        if isAsking { turn.perform(.terminateTree) } else { kill(&turn) }
    }

    mutating func conclude() { (allowanceEnd, budgetEnd) = (nil, nil) }

    /// The cause of the end.
    ///
    /// - Parameter incident: the incident that the app was killed for, if any.
    func cause(_ incident: Incident?) -> Outcome.Cause {
        if let incident { return .watchdog(incident) }
        if isInsisted { return .killedOnRequest }
        return wasRequested ? .terminated : .exited
    }
}

extension Death {
    init(_ saved: SavedDeath) {
        allowanceEnd = saved.allowanceEnd
        budgetEnd = saved.budgetEnd
        status = saved.status
        isTreeEmpty = saved.isTreeEmpty
        isInsisted = saved.isInsisted
        wasRequested = saved.wasRequested
    }

    var saved: SavedDeath {
        SavedDeath(
            allowanceEnd: allowanceEnd, budgetEnd: budgetEnd, status: status, isTreeEmpty: isTreeEmpty,
            isInsisted: isInsisted, wasRequested: wasRequested)
    }
}
