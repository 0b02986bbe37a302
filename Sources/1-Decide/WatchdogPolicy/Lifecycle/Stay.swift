// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// One stay in the background.
struct Stay: Hashable, Sendable {
    private enum Phase: Hashable, Sendable {
        case open
        /// The expiration handlers are running.
        case expiring
        /// The consequence of its end is decided.
        case over
    }

    private var phase = Phase.open
    /// Tasks that are open at its deadline are a reason to kill.
    private(set) var judgement: Judgement
    private(set) var idleSince: Instant
    private var start: ResourceUse?
    private var latest: ResourceUse?

    init(_ turn: Turn) {
        judgement = Judgement(.backgroundTask, from: turn.now, allowance: turn.spec.lifecycle.background)
        idleSince = turn.now
    }

    var since: Instant { judgement.startedAt }
    var isOver: Bool { phase == .over }
    var isOpen: Bool { phase == .open }

    /// How long the main thread has waited for a CPU, as far as is known.
    var runDelay: Duration {
        guard let start, let latest else { return .zero }
        return max(.zero, latest.runDelay - start.runDelay)
    }

    func isMachineBusy(at now: Instant) -> Bool { runDelay * 2 >= now - since }

    /// When it must expire, or has expired; nil when that is decided.
    func due(_ lifecycle: LifecycleAllowances) -> Instant? {
        switch phase {
        case .open: max(since, judgement.deadline - lifecycle.expiration)
        case .expiring: judgement.deadline
        case .over: nil
        }
    }

    mutating func beIdle(at now: Instant) { idleSince = now }

    mutating func measured(_ use: ResourceUse) {
        if start == nil { start = use }
        latest = use
    }

    /// Records the first task; returns whether it must expire immediately because the time is used up.
    mutating func taskBegan(_ turn: Turn) -> Bool {
        let expiration = turn.spec.lifecycle.expiration
        guard turn.now >= judgement.deadline - expiration else { return false }
        judgement.move(to: max(judgement.deadline, turn.now + expiration))
        return true
    }

    /// Records that the last task ended; returns whether the handlers had been asked for that.
    mutating func tasksEnded(at now: Instant) -> Bool {
        idleSince = now
        let wasOpen = isOpen
        if phase == .expiring { phase = .open }
        return !wasOpen
    }

    /// Handles an overslept deadline: the handlers get their time.
    mutating func overslept(by lateness: Duration, _ turn: Turn) {
        let expiration = turn.spec.lifecycle.expiration
        judgement.move(to: turn.now + (phase == .expiring ? min(lateness, expiration) : expiration))
    }

    /// Handles time that the app could not use: the handlers get theirs, whatever the clock says.
    mutating func resumed(_ turn: Turn) {
        judgement.move(to: max(judgement.deadline, turn.now + turn.spec.lifecycle.expiration))
    }

    /// Starts expiration; if that is early, the remaining time is cut to what the handlers need.
    mutating func expire(tasks: Int, _ turn: inout Turn) {
        phase = .expiring
        judgement.move(to: min(judgement.deadline, turn.now + turn.spec.lifecycle.expiration))
        let left = max(.zero, judgement.deadline - turn.now)
        turn.announce(lifecycle: .expiring(tasks: tasks, within: left))
        turn.perform(.expire(within: left))
    }

    /// Gives the tasks the additional time from an examination.
    mutating func postpone(_ judgement: Judgement) {
        self.judgement = judgement.with(windowStart: since, paused: .zero, rebases: 0)
    }

    mutating func decide() { phase = .over }
}

extension Stay {
    init(_ saved: SavedStay) {
        phase =
            switch saved.phase {
            case .open: .open
            case .expiring: .expiring
            case .over: .over
            }
        judgement = Judgement(saved.judgement)
        idleSince = saved.idleSince
        start = saved.start
        latest = saved.latest
    }

    var saved: SavedStay {
        let phase: SavedStay.Phase =
            switch phase {
            case .open: .open
            case .expiring: .expiring
            case .over: .over
            }
        return SavedStay(phase: phase, judgement: judgement.saved, idleSince: idleSince, start: start, latest: latest)
    }
}
