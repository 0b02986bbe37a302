// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The running allowance and its purpose; an app has at most one at a time.
struct AllowanceWatch: Hashable, Sendable {
    enum Purpose: Hashable, Sendable {
        case launch
        /// The main loop must answer a ping.
        case ping
        /// The app must push.
        case push
        /// The main loop must enter a state or handle an event.
        case obligation
        case termination(isRequested: Bool)
    }

    /// What the holder of the watch must do.
    enum Outcome {
        case nothing
        /// Send a fresh ping, which the app must miss first.
        case ping
        case decided
    }

    /// The time for an answer whose deadline passed while no supervisor was running; the whole allowance if that is
    /// shorter.
    private static let returnBudget: Duration = .milliseconds(250)

    /// Since when the main loop has been silent, apart from known pauses; nil if nothing is asked of it.
    func silentSince(at now: Instant) -> Instant? {
        switch purpose {
        case .ping, .obligation: judgement.isElapsedKnown ? now - judgement.elapsed(at: now) : nil
        case .launch, .push, .termination: nil
        }
    }

    private(set) var purpose: Purpose
    private(set) var judgement: Judgement

    private init(_ purpose: Purpose, _ judgement: Judgement) {
        self.purpose = purpose
        self.judgement = judgement
    }

    static func launch(at now: Instant, allowance: Duration) -> AllowanceWatch {
        AllowanceWatch(.launch, Judgement(.processLaunch, from: now, allowance: allowance))
    }

    static func termination(isRequested: Bool, at now: Instant, allowance: Duration) -> AllowanceWatch {
        AllowanceWatch(
            .termination(isRequested: isRequested), Judgement(.processExit, from: now, allowance: allowance))
    }

    /// An allowance of the main loop, or of whoever pushes, from `start`.
    static func update(_ purpose: Purpose, at start: Instant, allowance: Duration) -> AllowanceWatch {
        AllowanceWatch(purpose, Judgement(.sceneUpdate, from: start, allowance: allowance))
    }

    var isUpdate: Bool { judgement.event == .sceneUpdate }

    /// Whether only its start and its length are worth saving.
    var isWell: Bool { (purpose == .ping || purpose == .push) && judgement.isFresh }

    // MARK: - Events

    /// Handles what happens to the process.
    ///
    /// After the supervisor's restart, a deadline that has passed was really missed, because messages sent in the
    /// meantime were kept and have been read. But an app that answers pings gets a fresh one.
    ///
    /// - Parameter needsEvidence: whether an examination must confirm the deadline.
    mutating func handle(_ event: WatchEvent, needsEvidence: Bool = true, _ turn: inout Turn) -> Outcome {
        var terms = Terms(turn.spec.fairness)
        terms.needsEvidence = needsEvidence
        // The request to terminate includes SIGCONT: from then on, being stopped is no excuse.
        let isContinued = purpose == .termination(isRequested: true)
        if isContinued { terms.stopExcuseEnd = Instant(nanoseconds: .min) }
        switch event {
        case .due: return follow(judgement.due(at: turn.now, terms, &turn.numbers), &turn)
        case .inspected(let id, let evidence):
            return follow(judgement.inspected(id, evidence, at: turn.now, terms), &turn)
        case .stopped: return isContinued ? .nothing : follow(judgement.stopped(at: turn.now, terms), &turn)
        case .continued: return follow(judgement.continued(at: turn.now), &turn)
        case .machineResumed(let suspension):
            guard judgement.machineResumed(at: turn.now) else { return .nothing }
            turn.announce(.machineResumed(suspension: suspension))
            return startOver(&turn)
        case .captureEnded:
            return judgement.isExamining ? follow(judgement.examine(at: turn.now, &turn.numbers), &turn) : .nothing
        case .returned:
            guard purpose == .ping, judgement.isCounting, turn.now >= judgement.deadline else {
                return follow(judgement.returned(at: turn.now, terms, &turn.numbers), &turn)
            }
            judgement.move(to: turn.now + min(judgement.budget, Self.returnBudget))
            return .ping
        }
    }

    /// Hands the remainder of the launch to the scene, because the app's runtime has said hello.
    mutating func handOver(at now: Instant) {
        guard judgement.event == .processLaunch, judgement.isCounting else { return }
        judgement = judgement.handedOver(to: .sceneCreate, at: now)
    }

    /// Records a request to terminate for an app that was ending by itself.
    mutating func requestTermination() { purpose = .termination(isRequested: true) }

    mutating func extend(by duration: Duration, cap: Duration, at now: Instant) -> Deadline.Extension {
        judgement.extend(by: duration, cap: cap, at: now)
    }

    /// Ends the allowance early, or before it is replaced.
    func end(_ turn: inout Turn) {
        guard let since = judgement.pausedSince else { return }
        turn.announce(.resumed(after: turn.now - since))
    }

    // MARK: - Observation

    /// When to start sampling the process from outside; nil if that has started or never will.
    ///
    /// An app that pushes chooses its own rhythm and is silent for most of its allowance, so half of it means nothing.
    func observationDue(_ spec: Shared<AppSpec>) -> Instant? {
        guard let delay = spec.wrappedValue.observationDelay, judgement.isCounting, !judgement.isObserved else {
            return nil
        }
        let half = (judgement.deadline - judgement.windowStart) / 2
        let wait =
            switch purpose {
            case .launch, .ping, .obligation: min(half, delay)
            case .push: half + half / 2
            case .termination: half
            }
        let due = PingWatch.onTick(judgement.windowStart + wait, spec.wrappedValue.pingInterval)
        return due < judgement.deadline ? due : nil
    }

    mutating func observe() { judgement.observe() }

    /// The shortest allowance whose half is reported: the line about a shorter one would only precede that of its end.
    private static let shortestSlow: Duration = .seconds(2)

    /// When to report that half of the allowance has passed; nil for one that is short, or not observed from outside.
    ///
    /// Three quarters for an app that pushes: sd_watchdog_enabled(3) recommends to push every half of the allowance.
    func slownessDue(_ spec: Shared<AppSpec>) -> Instant? {
        guard judgement.isCounting, judgement.isObserved, !judgement.isSlow else { return nil }
        let whole = judgement.deadline - judgement.windowStart
        guard whole >= Self.shortestSlow else { return nil }
        let part = purpose == .push ? whole / 4 * 3 : whole / 2
        let due = PingWatch.onTick(judgement.windowStart + part, spec.wrappedValue.pingInterval)
        return due < judgement.deadline ? due : nil
    }

    mutating func noteSlow(_ turn: inout Turn) {
        judgement.noteSlow()
        let duty: Slowness.Duty? =
            switch purpose {
            // One that says nothing is assumed ready; that is reported then.
            case .launch: turn.spec.readiness == .automatic ? nil : .becomeReady
            case .ping: .answer
            case .push: .push
            case .obligation: .respond
            case .termination(let isRequested): .exit(isRequested: isRequested)
            }
        let whole = judgement.deadline - judgement.windowStart
        // Late, because the supervisor did not run: what follows at once says more.
        guard let duty, (judgement.deadline - turn.now) * 5 >= whole else { return }
        let slowness = Slowness(
            duty: duty, event: judgement.event, duration: turn.now - judgement.windowStart,
            remaining: judgement.deadline - turn.now)
        turn.announce(.slow(slowness))
    }

    /// The silence of the main loop that ended now without an incident; nil if there was none.
    func endedHang(at now: Instant) -> Hang? {
        guard isUpdate, purpose != .push, judgement.isCounting || judgement.isExamining else { return nil }
        return Hang(
            event: judgement.event, startedAt: judgement.startedAt, duration: judgement.elapsed(at: now),
            allowance: judgement.allowance)
    }

    // MARK: - Steps

    private mutating func follow(_ step: Judgement.Step, _ turn: inout Turn) -> Outcome {
        switch step {
        case .nothing: break
        case .overslept(let lateness):
            turn.announce(.overslept(by: lateness, event: judgement.event))
            if isUpdate { return startOver(&turn) }
        case .inspect(let id): turn.perform(.inspect(id: id))
        case .paused(let pause): turn.announce(.paused(pause))
        case .resumed(let duration, let startsOver):
            turn.announce(.resumed(after: duration))
            if startsOver { return startOver(&turn) }
        case .credited(let credit): turn.announce(.starvationCredit(credit, event: judgement.event))
        case .decided: return .decided
        }
        return .nothing
    }

    /// Starts the evidence window over; an app that answers pings must miss a fresh one.
    private mutating func startOver(_ turn: inout Turn) -> Outcome {
        judgement.beginWindow(at: turn.now)
        turn.perform(.beginWindow)
        guard purpose == .ping else { return .nothing }
        judgement.restart(at: turn.now)
        return .ping
    }
}

extension AllowanceWatch {
    init(_ saved: SavedAllowance) {
        purpose =
            switch saved.purpose {
            case .launch: .launch
            case .ping: .ping
            case .push: .push
            case .obligation: .obligation
            case .termination: .termination(isRequested: false)
            case .requestedTermination: .termination(isRequested: true)
            }
        judgement = Judgement(saved.judgement)
    }

    var saved: SavedAllowance {
        let purpose: SavedAllowance.Purpose =
            switch purpose {
            case .launch: .launch
            case .ping: .ping
            case .push: .push
            case .obligation: .obligation
            case .termination(isRequested: false): .termination
            case .termination(isRequested: true): .requestedTermination
            }
        return SavedAllowance(purpose: purpose, judgement: judgement.saved)
    }
}
