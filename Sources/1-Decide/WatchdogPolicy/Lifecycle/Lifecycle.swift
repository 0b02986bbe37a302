// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Foreground, background and suspension of one app: its state, its goal, and the next step toward it.
struct Lifecycle: Hashable, Sendable {
    enum Goal: Hashable, Sendable, Codable {
        case foreground
        case background
        case suspended

        private enum CodingKeys: String, CodingKey { case foreground, background, suspended }
    }

    /// The value as long as nothing has happened.
    static let unchanged = Lifecycle()

    private(set) var visibility = Visibility.foreground
    private var goal = Goal.foreground
    private var obligations = Obligations()
    private var background = Background()
    private var freezer = Freezer()
    private var past = LifecycleRecord()

    private init() {}
    /// Starts in the state that the app's environment announces.
    init(_ allowances: LifecycleAllowances) {
        guard allowances.launchesInBackground else { return }
        visibility = .background
        goal = .background
    }

    var isSuspended: Bool { freezer.isSuspending }
    var isAnswerAwaited: Bool { freezer.isAnswerAwaited }
    var firstObligation: Duration? { obligations.firstAllowance }
    var tasksRunDelay: Duration { background.runDelay }
    /// Whether the app is meant to be suspended.
    var isToBeSuspended: Bool { goal == .suspended }

    var record: LifecycleRecord {
        var record = past
        record.openTasks = background.openTasks
        record.taskCount = background.taskCount
        return record
    }

    private var takesPart: Bool { past.takesPart }
    private var restingState: LifecycleState { visibility == .foreground ? .foreground : .background }

    /// The state of a running app.
    var state: LifecycleState {
        freezer.isFrozen ? .suspended : obligations.isMoving ? .inactive : restingState
    }

    /// When it needs attention, apart from obligations of the main loop.
    ///
    /// - Parameter isJudging: whether an incident is decided, or about to be.
    func due(_ life: Life, isJudging: Bool, _ spec: Shared<AppSpec>) -> Instant? {
        guard life == .launching || life == .running else { return nil }
        if freezer.isSuspending { return freezer.backstop }
        guard !isJudging else { return background.sampleDue }
        return .earliest(background.sampleDue, .earliest(background.floodedAt, stayDue(life, spec)))
    }

    private func stayDue(_ life: Life, _ spec: Shared<AppSpec>) -> Instant? {
        guard life == .running, !freezer.isSuspending, let idleSince = background.idleSince else { return nil }
        guard !background.hasTasks else { return background.tasksDue(spec) }
        guard goal == .background, obligations.isIdle else { return nil }
        return spec.wrappedValue.lifecycle.idle.map { idleSince + $0 }
    }

    mutating func due(_ watches: inout Watches, _ turn: inout Turn) {
        guard let due = due(turn.life, isJudging: watches.isJudging, turn.shared), turn.now >= due else { return }
        if freezer.isSuspending {
            turn.announce(lifecycle: .suspensionIncomplete)
            return froze(nil, &watches, &turn)
        }
        background.sample(&turn)
        background.judgeFlood(&watches, &turn)
        guard !watches.isJudging, let due = stayDue(turn.life, turn.shared), turn.now >= due else { return }
        guard !background.hasTasks else { return background.tasksDue(at: due, &watches, &turn) }
        goal = .suspended
        advanceToGoal(&watches, &turn)
    }

    // MARK: - Stages of life

    mutating func beginLaunch(_ turn: Turn) { background.beginLaunch(turn) }

    mutating func ready(_ turn: inout Turn) {
        background.endLaunch()
        enter(state, turn)
    }

    /// Programs that do not take part have no tasks, and are not suspended for being idle.
    mutating func beginStayIfHidden(_ turn: inout Turn) {
        if visibility == .background, takesPart { background.beginStay(&turn) }
    }

    /// Records an adopted app, whose launch was not seen.
    mutating func adopted(at now: Instant) { past.enter(.foreground, at: now) }

    mutating func terminating(_ turn: inout Turn) {
        end(&turn)
        enter(.terminating, turn)
    }

    /// Ends everything; only the past counts from now on.
    mutating func end(_ turn: inout Turn) {
        obligations.end()
        background.end()
        freezer.end()
        turn.isSuspended = false
    }

    private mutating func enter(_ state: LifecycleState, _ turn: Turn) {
        if past.moments.isEmpty { past.moments = turn.launch.moments }
        past.enter(state, at: turn.now)
    }

    // MARK: - Events

    mutating func handle(_ event: LifecycleEvent, _ watches: inout Watches, _ turn: inout Turn) {
        switch event {
        case .joined: joined(&watches, &turn)
        case .requested(let request): requested(request, &watches, &turn)
        case .stateDone(let id): stateDone(id, &watches, &turn)
        case .eventDone(let id): eventAnswered(id, isLost: false, &watches, &turn)
        case .eventLost(let id): eventAnswered(id, isLost: true, &watches, &turn)
        case .taskBegan(let id, let name): taskBegan(id, name, &watches, &turn)
        case .taskEnded(let id): taskEnded(id, &watches, &turn)
        case .froze(let locks):
            if freezer.reported(locks) { return advanceToGoal(&watches, &turn) }
            froze(locks, &watches, &turn)
        case .measured(let use): background.measured(use, &watches, &turn)
        }
    }

    private mutating func joined(_ watches: inout Watches, _ turn: inout Turn) {
        guard !takesPart else { return }
        past.takesPart = true
        watches.duties.hello(&turn)
        // The app starts in the state that its environment announced; states decided since then are requested now.
        visibility = turn.spec.lifecycle.launchesInBackground ? .background : .foreground
        turn.visibility = visibility
        if turn.life == .running, !freezer.isSuspending { beginStayIfHidden(&turn) }
        advanceToGoal(&watches, &turn)
    }

    private mutating func requested(
        _ request: LifecycleRequest, _ watches: inout Watches, _ turn: inout Turn
    ) {
        if let refusal = refusal(of: request, turn) { return turn.announce(lifecycle: .refused(request, refusal)) }
        switch request {
        case .foreground: setGoal(.foreground, turn)
        case .background: setGoal(.background, turn)
        case .suspend: setGoal(.suspended, turn)
        case .resume: setGoal(visibility == .foreground ? .foreground : .background, turn)
        case .event: obligations.wait(request)
        }
        advanceToGoal(&watches, &turn)
    }

    private mutating func setGoal(_ goal: Goal, _ turn: Turn) {
        if freezer.isSuspending, self.goal == .suspended { freezer.requested(at: turn.now) }
        self.goal = goal
        // Somebody uses the app: do not suspend it immediately.
        background.beIdle(at: turn.now)
    }

    private func refusal(of request: LifecycleRequest, _ turn: Turn) -> LifecycleRefusal? {
        guard turn.life == .launching || turn.life == .running else { return .notRunning }
        switch request {
        case .foreground, .background: return nil
        case .suspend: return goal == .suspended ? .alreadySuspended : nil
        case .resume: return goal == .suspended ? nil : .notSuspended
        case .event:
            if turn.life == .running, !takesPart { return .notTakingPart }
            return obligations.isFull ? .tooManyEvents : nil
        }
    }

    /// Takes the next steps toward the latest request, unless something is in the way.
    ///
    /// Each obstacle calls this again when it is gone: the launch, an answer, a capture, an examination, the freezer.
    mutating func advanceToGoal(_ watches: inout Watches, _ turn: inout Turn) {
        guard turn.life == .running, !watches.isJudging, freezer.backstop == nil else { return }
        if freezer.isFrozen {
            guard goal != .suspended else { return judgeLocks(&watches, &turn) }
            thaw(&watches, &turn)
        }
        sendEvents(&watches, &turn)
        guard !obligations.isMoving else { return }
        switch (goal, visibility) {
        case (.foreground, .foreground), (.background, .background): break
        case (.foreground, .background): move(to: .foreground, &watches, &turn)
        case (.background, .foreground): move(to: .background, &watches, &turn)
        case (.suspended, .foreground) where takesPart: move(to: .background, &watches, &turn)
        case (.suspended, _):
            guard obligations.isEmpty else { return }
            guard background.isOver else { return background.expireIfOpen(&turn) }
            watches.suspend(&turn)
            background.endStay()
            freezer.freeze(&turn)
        }
    }

    // MARK: - Obligations of the main loop

    private mutating func move(to visibility: Visibility, _ watches: inout Watches, _ turn: inout Turn) {
        if visibility == .foreground { background.endStay() }
        guard takesPart else {
            self.visibility = visibility
            turn.visibility = visibility
            enter(restingState, turn)
            return turn.announce(lifecycle: .entered(visibility, after: .zero))
        }
        let isLeaving = visibility == .background
        let allowance = isLeaving ? turn.spec.lifecycle.enterBackground : turn.spec.allowances.update
        let id = obligations.ask(visibility, within: allowance, at: turn.now)
        enter(.inactive, turn)
        turn.announce(lifecycle: .moving(to: visibility))
        turn.perform(.enter(visibility, id: id, backgroundTime: isLeaving ? turn.spec.lifecycle.background : nil))
        watchObligations(&watches, &turn)
    }

    private mutating func sendEvents(_ watches: inout Watches, _ turn: inout Turn) {
        for request in obligations.takeWaiting() {
            guard case .event(let kind, let payload, let sender) = request else { continue }
            guard takesPart else {
                turn.announce(lifecycle: .refused(request, .notTakingPart))
                continue
            }
            let id = obligations.send(kind, within: turn.spec.allowances.update, at: turn.now)
            turn.perform(.deliver(kind: kind, payload: payload, sender: sender, id: id))
            watchObligations(&watches, &turn)
        }
    }

    func watchObligations(_ watches: inout Watches, _ turn: inout Turn) {
        if let allowance = obligations.firstAllowance { watches.duties.beginObligation(within: allowance, &turn) }
    }

    private mutating func stateDone(_ id: UInt64, _ watches: inout Watches, _ turn: inout Turn) {
        switch obligations.stateDone(id) {
        case .unknown: past.mistakes.unknownStates += 1
        case .outOfOrder: past.mistakes.statesOutOfOrder += 1
        case .needless: break
        case .entered(let visibility, let sentAt, let wasFirst):
            self.visibility = visibility
            turn.visibility = visibility
            enter(restingState, turn)
            turn.announce(lifecycle: .entered(visibility, after: turn.now - sentAt))
            resumeAnswered(&turn)
            beginStayIfHidden(&turn)
            obligationDone(wasFirst: wasFirst, &watches, &turn)
        }
    }

    /// - Parameter isLost: whether nothing listened for the event with this number; those before it were handled.
    private mutating func eventAnswered(_ id: UInt64, isLost: Bool, _ watches: inout Watches, _ turn: inout Turn) {
        guard let (events, wasFirst) = obligations.eventDone(id) else {
            if turn.life == .running { past.mistakes.unknownEvents += 1 }
            return
        }
        for event in events {
            let handled = LifecycleNotice.handled(event: event.name, after: turn.now - event.sentAt)
            turn.announce(lifecycle: isLost && event.id == id ? .lost(event: event.name) : handled)
        }
        if wasFirst { watches.duties.recordObligation(&turn) }
        background.beIdle(at: turn.now)
        obligationDone(wasFirst: wasFirst, &watches, &turn)
    }

    private mutating func obligationDone(wasFirst: Bool, _ watches: inout Watches, _ turn: inout Turn) {
        if wasFirst { watches.duties.endObligation(&turn) }
        if obligations.isEmpty {
            watches.duties.scheduleNextPing(turn)
        } else {
            watchObligations(&watches, &turn)
        }
        advanceToGoal(&watches, &turn)
    }

    // MARK: - Suspension

    private mutating func froze(_ locks: [LockedFile]?, _ watches: inout Watches, _ turn: inout Turn) {
        guard let since = freezer.froze(locks, at: turn.now) else { return }
        enter(.suspended, turn)
        turn.announce(lifecycle: .suspended(after: turn.now - since))
        advanceToGoal(&watches, &turn)
    }

    /// Judges locks held by a suspended app, which others may be waiting for.
    ///
    /// A program that does not know about suspension may hold a lock all its life, which is not a mistake.
    private mutating func judgeLocks(_ watches: inout Watches, _ turn: inout Turn) {
        let locks = freezer.takeLocks()
        guard !locks.isEmpty else { return }
        guard takesPart else { return turn.announce(lifecycle: .locksHeld(locks)) }
        let judgement = Judgement(.suspension, from: turn.now, allowance: .zero)
        watches.beginTrigger(.lockedFiles(locks), judgement, &turn)
    }

    private mutating func thaw(_ watches: inout Watches, _ turn: inout Turn) {
        guard let since = freezer.thaw(&turn) else { return }
        enter(restingState, turn)
        turn.perform(.thaw)
        turn.announce(lifecycle: .resumed(after: turn.now - since))
        if !watches.duties.beginUpdates(&turn) { resumeAnswered(&turn) }
        if goal == .background { beginStayIfHidden(&turn) }
    }

    /// Completes a resume with the first answer of the main loop in the requested state.
    mutating func resumeAnswered(_ turn: inout Turn) {
        guard !obligations.isMoving, let duration = freezer.resumeAnswered(at: turn.now) else { return }
        past.resumes.record(duration)
        turn.announce(lifecycle: .responsive(after: duration))
    }

    /// Handles a suspension, in which the app could not use its time.
    mutating func machineResumed(_ turn: Turn) { background.machineResumed(turn) }

    private mutating func taskBegan(_ id: UInt64, _ name: String, _ watches: inout Watches, _ turn: inout Turn) {
        guard turn.life == .launching || turn.life == .running,
            case .begun(let wasIdle, let isFlood) = background.taskBegan(id, name, &past.mistakes, turn),
            !freezer.isSuspending
        else { return }
        if isFlood { background.judgeFlood(&watches, &turn) }
        if wasIdle { background.expireIfSpent(&turn) }
    }

    private mutating func taskEnded(_ id: UInt64, _ watches: inout Watches, _ turn: inout Turn) {
        guard background.taskEnded(id, turn) else {
            if turn.life == .launching || turn.life == .running { past.mistakes.unknownTasks += 1 }
            return
        }
        guard !background.hasTasks else { return }
        if watches.triggerReason == .backgroundTasks { watches.dropTrigger(&turn) }
        guard let wasExpiring = background.tasksEnded(at: turn.now) else { return }
        if wasExpiring { suspendIfIdle(turn) }
        advanceToGoal(&watches, &turn)
    }

    private mutating func suspendIfIdle(_ turn: Turn) {
        if turn.spec.lifecycle.idle != nil, goal == .background { goal = .suspended }
    }

    /// The cause of an incident that is decided now.
    mutating func decided(_ reason: TriggerWatch.Reason, _ turn: Turn) -> Incident.Cause {
        // If the incident is only reported, the app continues as it would without tasks.
        if reason == .backgroundTasks { suspendIfIdle(turn) }
        return background.decided(reason, at: turn.now)
    }

    /// Gives background tasks more time.
    mutating func postponed(_ judgement: Judgement, _ watches: inout Watches, _ turn: inout Turn) {
        background.postpone(judgement)
        advanceToGoal(&watches, &turn)
    }

    // MARK: - Loss of the supervisor or the channel

    /// Repeats what the previous supervisor may have lost, if repeating it does no harm.
    ///
    /// An app confirms a state that it has already entered; a frozen app is frozen again.
    mutating func returned(_ turn: inout Turn) {
        guard turn.life == .running, !freezer.returned(&turn) else { return }
        // The effect was saved before it was executed, and may not have been.
        if past.moments.contains(where: { $0.state == .suspended }) { turn.perform(.thaw) }
        for (visibility, id) in obligations.states {
            let time = visibility == .background ? turn.spec.lifecycle.background : nil
            turn.perform(.enter(visibility, id: id, backgroundTime: time))
        }
        machineResumed(turn)
    }

    /// Handles the loss of the channel: the app can neither be asked nor heard.
    mutating func channelLost(_ watches: inout Watches, _ turn: inout Turn) {
        guard takesPart else { return }
        if watches.triggerReason == .backgroundTasks { watches.dropTrigger(&turn) }
        watches.duties.dropObligation(&turn)
        past.takesPart = false
        background.drop()
        obligations.drop()
        freezer.forgetResume()
        advanceToGoal(&watches, &turn)
    }
}

extension Lifecycle {
    init(_ saved: SavedLifecycle) {
        visibility = saved.visibility
        goal = saved.goal
        obligations = Obligations(saved.obligations)
        background = Background(saved.background)
        freezer = Freezer(saved.freezer)
        past = saved.past
    }

    var saved: SavedLifecycle {
        SavedLifecycle(
            visibility: visibility, goal: goal, obligations: obligations.saved, background: background.saved,
            freezer: freezer.saved, past: past)
    }
}
