// SPDX-License-Identifier: Apache-2.0

extension AppMachine {
    /// Where the app is between its launch and its end.
    public var lifecycleState: LifecycleState {
        switch life {
        case .idle, .ended: .notRunning
        case .launching: .launching
        case .running: lifecycle.isFrozen ? .suspended : lifecycle.isMoving ? .inactive : restingState
        case .terminating, .dying: .terminating
        }
    }

    /// What it has gone through.
    public var lifecycleRecord: LifecycleRecord {
        var record = lifecycle.record
        if record.moments.isEmpty { record.moments = launchMoments }
        return record
    }

    /// What most apps go through, and nothing else: not recorded before more follows.
    private var launchMoments: [LifecycleRecord.Moment] {
        guard let launchedAt else { return [] }
        let launching = LifecycleRecord.Moment(at: launchedAt, state: .launching)
        guard let launchDuration else { return [launching] }
        return [launching, LifecycleRecord.Moment(at: launchedAt + launchDuration, state: .foreground)]
    }

    /// Records a state that begins.
    mutating func enter(_ state: LifecycleState, at now: Instant) {
        if lifecycle.record.moments.isEmpty { lifecycle.record.moments = launchMoments }
        lifecycle.record.enter(state, at: now)
    }

    private var restingState: LifecycleState { lifecycle.visibility == .foreground ? .foreground : .background }

    mutating func lifecycleHappened(_ event: LifecycleEvent, at now: Instant, _ effects: inout [AppEffect]) {
        switch event {
        case .joined: joined(at: now, &effects)
        case .requested(let request): requested(request, at: now, &effects)
        case .stateDone(let id): stateDone(id, at: now, &effects)
        case .eventDone(let id): eventDone(id, at: now, &effects)
        case .taskBegan(let id, let name): taskBegan(id, name, at: now, &effects)
        case .taskEnded(let id): taskEnded(id, at: now, &effects)
        case .froze(let locks): froze(locks, at: now, &effects)
        case .measured(let use): measured(use, at: now, &effects)
        }
    }

    // MARK: - Deadlines

    /// When the lifecycle needs attention, apart from what the main loop has to answer.
    var lifecycleDeadline: Instant? {
        guard life == .launching || life == .running else { return nil }
        return deadline(of: lifecycle)
    }

    private func deadline(of lifecycle: Lifecycle) -> Instant? {
        switch lifecycle.freeze {
        case .asked(_, let backstop): return backstop
        case .frozen: return nil
        case nil: break
        }
        let isQuiet = lifecycle.stay == nil && lifecycle.floodedAt == nil
        let looks = Instant.earliest(lifecycle.cpu?.nextLook, lifecycle.taskWarning)
        return isQuiet ? looks : .earliest(looks, .earliest(stayDeadline, floodDeadline))
    }

    mutating func lifecycleDue(at now: Instant, _ effects: inout [AppEffect]) {
        guard let due = lifecycleDeadline, now >= due else { return }
        if case .asked(let since, let backstop) = lifecycle.freeze {
            guard now >= backstop else { return }
            effects.append(.announce(.lifecycle(.suspensionIncomplete)))
            becomeFrozen(since: since, hasReport: false, at: now, &effects)
            return
        }
        warnOfOldTasks(at: now, &effects)
        lookAtCPUTime(at: now, &effects)
        judgeFlood(at: now, &effects)
        if trigger == nil, let due = stayDeadline, now >= due { stayDue(at: now, &effects) }
    }

    // MARK: - Requests

    private mutating func joined(at now: Instant, _ effects: inout [AppEffect]) {
        guard !lifecycle.record.takesPart else { return }
        lifecycle.record.takesPart = true
        hello(at: now, &effects)
        // It begins where its environment says; what was decided before without asking it is asked for now.
        lifecycle.visibility = spec.lifecycle.launchesInBackground ? .background : .foreground
        if life == .running, lifecycle.freeze == nil, lifecycle.visibility == .background {
            beginStay(at: now, &effects)
        }
        pursueGoal(at: now, &effects)
    }

    private mutating func requested(_ request: LifecycleRequest, at now: Instant, _ effects: inout [AppEffect]) {
        if let refusal = refusal(of: request) {
            effects.append(.announce(.lifecycle(.refused(request, refusal))))
            return
        }
        switch request {
        case .foreground: wish(.foreground, at: now)
        case .background: wish(.background, at: now)
        case .suspend: wish(.suspended, at: now)
        case .resume: wish(lifecycle.visibility == .foreground ? .foreground : .background, at: now)
        case .event: lifecycle.waitingEvents.append(request)
        }
        pursueGoal(at: now, &effects)
    }

    private mutating func wish(_ goal: Lifecycle.Goal, at now: Instant) {
        if lifecycle.freeze != nil, lifecycle.goal == .suspended { lifecycle.askedAt = now }
        lifecycle.goal = goal
        // A wish is a sign that somebody cares: an idle app is not suspended at once.
        lifecycle.stay?.idleSince = now
    }

    private func refusal(of request: LifecycleRequest) -> LifecycleRefusal? {
        switch life {
        case .idle, .terminating, .dying, .ended: return .notRunning
        case .launching, .running: break
        }
        switch request {
        case .foreground, .background:
            return nil
        case .suspend:
            return lifecycle.goal == .suspended ? .alreadySuspended : nil
        case .resume:
            return lifecycle.goal == .suspended ? nil : .notSuspended
        case .event:
            if life == .running, !lifecycle.record.takesPart { return .notTakingPart }
            let waiting = lifecycle.obligations.count + lifecycle.waitingEvents.count
            return waiting < Lifecycle.eventLimit ? nil : .tooManyEvents
        }
    }

    /// Takes the next steps towards what was asked for last, as far as nothing stands in the way.
    ///
    /// Each obstacle calls this again when it is gone: the end of the launch, an answer, a capture, a look, the freezer.
    mutating func pursueGoal(at now: Instant, _ effects: inout [AppEffect]) {
        guard life == .running, capture == nil, trigger == nil else { return }
        if case .asked = lifecycle.freeze { return }
        if lifecycle.isFrozen {
            guard lifecycle.goal != .suspended else {
                judgeLocks(at: now, &effects)
                return
            }
            thaw(at: now, &effects)
        }
        sendEvents(at: now, &effects)
        guard !lifecycle.isMoving else { return }
        switch (lifecycle.goal, lifecycle.visibility) {
        case (.foreground, .foreground), (.background, .background): break
        case (.foreground, .background): move(to: .foreground, at: now, &effects)
        case (.background, .foreground): move(to: .background, at: now, &effects)
        case (.suspended, .foreground) where lifecycle.record.takesPart: move(to: .background, at: now, &effects)
        case (.suspended, _):
            guard lifecycle.obligations.isEmpty else { return }
            if lifecycle.record.openTasks.isEmpty || lifecycle.stay?.isOver != false {
                freeze(at: now, &effects)
            } else if lifecycle.stay?.isExpiring == false {
                expire(at: now, &effects)
            }
        }
    }

    // MARK: - What the main loop has to answer

    private mutating func move(to visibility: Visibility, at now: Instant, _ effects: inout [AppEffect]) {
        if visibility == .foreground { endStay() }
        guard lifecycle.record.takesPart else {
            lifecycle.visibility = visibility
            enter(restingState, at: now)
            effects.append(.announce(.lifecycle(.entered(visibility, after: .zero))))
            return
        }
        lifecycle.statesAsked += 1
        let id = lifecycle.statesAsked
        let isLeaving = visibility == .background
        enter(.inactive, at: now)
        effects += [
            .announce(.lifecycle(.moving(to: visibility))),
            .lifecycle(.enter(visibility, id: id, backgroundTime: isLeaving ? spec.lifecycle.background : nil)),
        ]
        oblige(
            .state(visibility, id: id),
            within: isLeaving ? spec.lifecycle.enterBackground : spec.allowances.update, at: now, &effects)
    }

    private mutating func sendEvents(at now: Instant, _ effects: inout [AppEffect]) {
        let events = lifecycle.waitingEvents
        lifecycle.waitingEvents = []
        for request in events {
            guard case .event(let kind, let payload) = request else { continue }
            guard lifecycle.record.takesPart else {
                effects.append(.announce(.lifecycle(.refused(request, .notTakingPart))))
                continue
            }
            lifecycle.eventsSent += 1
            effects.append(.lifecycle(.deliver(kind: kind, payload: payload, id: lifecycle.eventsSent)))
            oblige(.event(name: kind, id: lifecycle.eventsSent), within: spec.allowances.update, at: now, &effects)
        }
    }

    private mutating func oblige(
        _ kind: Lifecycle.Obligation.Kind, within allowance: Duration, at now: Instant, _ effects: inout [AppEffect]
    ) {
        lifecycle.obligations.append(Lifecycle.Obligation(kind: kind, sentAt: now, allowance: allowance))
        watchObligations(at: now, &effects)
    }

    /// The main loop answers in order, so that only the first allowance runs: the next begins with the answer before it.
    ///
    /// A ping that is out keeps its deadline where that is the earlier one.
    mutating func watchObligations(at now: Instant, _ effects: inout [AppEffect]) {
        guard let first = lifecycle.obligations.first else { return }
        if let running = countdown {
            guard !running.isForObligation, running.condition == .counting, now + first.allowance < running.deadline
            else { return }
        }
        nextPing = nil
        countdown = Countdown(.sceneUpdate, from: now, allowance: first.allowance)
        countdown?.isForObligation = true
        applyGrace(at: now)
        effects.append(.beginWindow)
    }

    private mutating func stateDone(_ id: UInt64, at now: Instant, _ effects: inout [AppEffect]) {
        guard id > 0, id <= lifecycle.statesAsked else {
            lifecycle.record.mistakes.unknownStates += 1
            return
        }
        guard id > lifecycle.statesDone else {
            if id < lifecycle.statesDone { lifecycle.record.mistakes.statesOutOfOrder += 1 }
            return
        }
        lifecycle.statesDone = id
        guard
            let index = lifecycle.obligations.firstIndex(where: {
                if case .state(_, let asked) = $0.kind { asked <= id } else { false }
            }), case .state(let visibility, _) = lifecycle.obligations[index].kind
        else { return }
        let answered = lifecycle.obligations.remove(at: index)
        lifecycle.visibility = visibility
        enter(restingState, at: now)
        effects.append(.announce(.lifecycle(.entered(visibility, after: now - answered.sentAt))))
        resumeAnswered(at: now, &effects)
        if visibility == .background { beginStay(at: now, &effects) }
        settleObligations(wasFirst: index == 0, at: now, &effects)
        pursueGoal(at: now, &effects)
    }

    private mutating func eventDone(_ id: UInt64, at now: Instant, _ effects: inout [AppEffect]) {
        var isFirst: Bool?
        while let index = lifecycle.obligations.firstIndex(where: {
            if case .event(_, let sent) = $0.kind { sent <= id } else { false }
        }), id <= lifecycle.eventsSent {
            let answered = lifecycle.obligations.remove(at: index)
            isFirst = isFirst == true || index == 0
            guard case .event(let name, _) = answered.kind else { continue }
            effects.append(.announce(.lifecycle(.handled(event: name, after: now - answered.sentAt))))
        }
        guard let isFirst else {
            if life == .running { lifecycle.record.mistakes.unknownEvents += 1 }
            return
        }
        if isFirst, let running = countdown, running.isForObligation, running.standstill?.isFound != true {
            recordHang(running.elapsed(at: now), &effects)
        }
        lifecycle.stay?.idleSince = now
        settleObligations(wasFirst: isFirst, at: now, &effects)
        pursueGoal(at: now, &effects)
    }

    private mutating func settleObligations(wasFirst: Bool, at now: Instant, _ effects: inout [AppEffect]) {
        if wasFirst, countdown?.isForObligation == true {
            announceResumed(at: now, &effects)
            countdown = nil
        }
        if lifecycle.obligations.isEmpty {
            guard countdown == nil else { return }
            scheduleNextPing(at: now)
        } else {
            watchObligations(at: now, &effects)
        }
    }
}
