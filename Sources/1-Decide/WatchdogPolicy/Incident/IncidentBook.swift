// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The incidents of one launch: at most one is open, and each is closed by one report.
struct IncidentBook: Equatable, Sendable {
    /// A capture in progress.
    struct Capture: Hashable, Sendable {
        let incident: Incident
        fileprivate(set) var budgetEnd: Instant
        /// The second request to terminate came; the kill waits for the capture.
        fileprivate(set) var isKillRequested = false
    }

    private static let limit = 64

    /// The latest last.
    private(set) var closed: [Incident] = []
    private var count = 0
    @Boxed private var open: Capture?
    /// The incident for which the app is being killed.
    @Boxed private var killing: Incident?

    var capture: Capture? { open }
    var isCapturing: Bool { !$open.isEmpty }
    var isKilling: Bool { !$killing.isEmpty }
    /// Whether the app is killed as soon as the capture ends.
    var isKillPending: Bool { isCapturing && open?.incident.isEnforced == true }

    /// Opens an incident for an exhausted allowance and starts the capture.
    mutating func open(
        _ cause: Incident.Cause, _ judgement: Judgement, on evidence: Evidence?, _ turn: inout Turn
    ) {
        count += 1
        let isLaunch = [.processLaunch, .sceneCreate].contains(judgement.event)
        let incident = Incident(
            id: count,
            event: judgement.event,
            cause: cause,
            allowance: judgement.allowance,
            startedAt: judgement.startedAt,
            windowStart: judgement.windowStart,
            deadline: judgement.deadline,
            decidedAt: turn.now,
            credit: judgement.credit ?? .zero,
            extended: judgement.extended,
            paused: judgement.paused,
            rebases: judgement.rebases,
            evidence: evidence.map { $0.ofMainProcess },
            visibility: turn.visibility,
            isSuspended: turn.isSuspended,
            isEnforced: turn.spec.enforcement == .kill,
            awaited: isLaunch && cause == .exhausted ? turn.spec.awaited : nil,
            isDeathVerified: nil
        )
        open = Capture(incident: incident, budgetEnd: turn.now + turn.spec.captureBudget)
        turn.announce(.transgressed(incident))
        turn.perform(.capture(incident))
    }

    /// Handles the end or the timeout of the capture; an incident that is only reported is then closed.
    mutating func endCapture(_ turn: inout Turn) -> Capture? {
        guard let ended = open else { return nil }
        open = nil
        if ended.incident.isEnforced {
            killing = ended.incident
        } else {
            close(ended.incident, &turn)
        }
        return ended
    }

    mutating func requestKill() { open?.isKillRequested = true }

    /// Captures again, because the previous supervisor may have lost the result.
    mutating func captureAgain(_ turn: inout Turn) {
        open?.budgetEnd = turn.now + turn.spec.captureBudget
        if let open { turn.perform(.capture(open.incident)) }
    }

    /// Closes the incident that the app was killed for, once it is dead or has survived SIGKILL; nil if there was none.
    mutating func endKill(isDeathVerified: Bool, _ turn: inout Turn) -> Incident? {
        guard var incident = killing else { return nil }
        incident.isDeathVerified = isDeathVerified
        killing = nil
        close(incident, &turn)
        return incident
    }

    private mutating func close(_ incident: Incident, _ turn: inout Turn) {
        if closed.count == Self.limit { closed.removeFirst() }
        closed.append(incident)
        turn.perform(.report(incident))
    }
}

extension IncidentBook {
    init(_ saved: SavedIncidents) {
        closed = saved.closed
        count = saved.count
        killing = saved.killing
        open = saved.capture.map {
            Capture(incident: $0.incident, budgetEnd: $0.budgetEnd, isKillRequested: $0.isKillRequested)
        }
    }

    var saved: SavedIncidents {
        SavedIncidents(
            closed: closed, count: count, killing: killing,
            capture: open.map {
                .init(incident: $0.incident, budgetEnd: $0.budgetEnd, isKillRequested: $0.isKillRequested)
            })
    }
}
