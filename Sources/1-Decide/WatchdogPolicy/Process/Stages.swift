// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The stages of one process's life, and what moves it from one to the next: launch, running, termination, death.
///
/// It composes the watches and the lifecycle, each of which judges privately.
struct Stages: Sendable, Equatable {
    private(set) var life = Life.idle
    private(set) var launch = LaunchWatch()
    private(set) var watches: Watches
    private var death = Death()
    /// Nil unless it differs from that of an app launched into the foreground to which nothing has happened.
    @Boxed private var changedLifecycle: Lifecycle?

    init(_ allowances: LifecycleAllowances, nonceSeed: UInt64) {
        watches = Watches(nonceSeed: nonceSeed)
        if allowances.launchesInBackground { changedLifecycle = Lifecycle(allowances) }
    }

    /// When the process needs attention.
    func due(_ spec: Shared<AppSpec>) -> Instant? {
        guard !watches.incidents.isCapturing else { return watches.incidents.capture?.budgetEnd }
        switch life {
        case .idle, .ended: return nil
        case .dying: return death.due
        case .launching, .running, .terminating: break
        }
        guard !_changedLifecycle.isEmpty else { return .earliest(watches.due(spec, isSuspended: false), launch.due) }
        let lifecycleDue = lifecycle.due(life, isJudging: watches.isJudging, spec)
        return .earliest(.earliest(watches.due(spec, isSuspended: lifecycle.isSuspended), launch.due), lifecycleDue)
    }

    // MARK: - Events

    mutating func handle(_ event: ProcessEvent, _ turn: inout Turn) {
        if !_changedLifecycle.isEmpty {
            turn.visibility = lifecycle.visibility
            turn.isSuspended = lifecycle.isSuspended
        }
        let before = watches.duties.observed
        perform(event, &turn)
        watches.followLaunch(&turn)
        let isOver = watches.incidents.isCapturing || death.status != nil
        watches.duties.followObservation(since: before, isOver: isOver, &turn)
    }

    /// Whether an event counts: of a process that is gone or condemned only the death matters, and messages left in its
    /// sockets are not signs of life.
    func counts(_ event: ProcessEvent) -> Bool {
        switch life {
        case .ended: return false
        case .dying: break
        case .idle, .launching, .running, .terminating:
            guard death.status != nil || watches.incidents.isKillPending else { return true }
        }
        return switch event {
        case .deadlineReached, .captured, .exited, .treeEmptied, .supervisorReturned: true
        case .terminateRequested, .machineResumed, .inspected: death.isAsking
        case .launchRequested, .spawned, .spawnFailed, .hello, .notified, .ready, .probed, .livenessProbed, .ponged,
            .watchdogPinged, .watchdogTriggered, .watchdogIntervalChanged, .extensionRequested, .stopping,
            .stopped, .continued, .adopted, .channelLost, .lifecycle:
            false
        }
    }

    private mutating func perform(_ event: ProcessEvent, _ turn: inout Turn) {
        switch event {
        case .launchRequested: if life == .idle, launch.begin() { turn.perform(.spawn) }
        case .spawned(let pid): spawned(pid, &turn)
        case .spawnFailed: if life == .idle { finish(.spawnFailed, isVerified: true, &turn) }
        case .hello: watches.duties.hello(&turn)
        case .notified: watches.duties.speak()
        case .ready(let source):
            watches.duties.speak()
            guard life == .launching, LaunchWatch.admits(source, turn.spec.readiness) else { return }
            becomeReady(source, &turn)
        case .probed(let isReady):
            guard life == .launching, turn.spec.readiness.isProbed else { return }
            if isReady { becomeReady(.probe, &turn) } else { launch.scheduleProbe(turn) }
        case .livenessProbed(let id, let result):
            if watches.probeEnded(id, result, &turn) { becomeReady(.probe, &turn) }
        case .ponged(let nonce): ponged(nonce, &turn)
        case .watchdogPinged: watches.duties.pushed(&turn)
        case .watchdogTriggered: watches.trigger(&turn)
        case .watchdogIntervalChanged(let interval): watches.duties.changePushInterval(to: interval, &turn)
        case .extensionRequested(let duration, let progress):
            watches.duties.extend(by: duration, progress, isProbed: watches.isProbed, &turn)
        case .stopping: terminate(isRequested: false, &turn)
        case .terminateRequested: terminate(isRequested: true, &turn)
        case .stopped: watches.handle(.stopped, &turn)
        case .continued: watches.handle(.continued, &turn)
        case .machineResumed(let suspension):
            withChangedLifecycle { lifecycle, _ in lifecycle.machineResumed(turn) }
            watches.handle(.machineResumed(suspension), &turn)
            death.handle(.machineResumed(suspension), &turn)
        case .deadlineReached: deadlineReached(&turn)
        case .inspected(let id, let evidence):
            let delay = _changedLifecycle.isEmpty ? Duration.zero : lifecycle.tasksRunDelay
            follow(watches.inspected(id, evidence, tasksRunDelay: delay, &turn), evidence, &turn)
            death.handle(.inspected(id: id, evidence), &turn)
        case .captured: captureEnded(&turn)
        case .exited(let status): exited(status, &turn)
        case .treeEmptied: treeEmptied(&turn)
        case .lifecycle(let event): withLifecycle { $0.handle(event, &$1, &turn) }
        case .supervisorReturned(let isLastStepDone): supervisorReturned(isLastStepDone: isLastStepDone, &turn)
        case .adopted(let pid): adopted(pid, &turn)
        case .channelLost: channelLost(&turn)
        }
    }

    var lifecycle: Lifecycle {
        // Several reads per event: it is too large to be copied each time.
        _read { yield _changedLifecycle[default: Lifecycle.unchanged] }
    }

    private mutating func withLifecycle(_ body: (inout Lifecycle, inout Watches) -> Void) {
        var lifecycle = changedLifecycle ?? .unchanged
        body(&lifecycle, &watches)
        changedLifecycle = lifecycle == .unchanged ? nil : lifecycle
    }

    private mutating func withChangedLifecycle(_ body: (inout Lifecycle, inout Watches) -> Void) {
        if !_changedLifecycle.isEmpty { withLifecycle(body) }
    }

    private mutating func become(_ life: Life, _ turn: inout Turn) {
        self.life = life
        turn.life = life
    }

    // MARK: - Launch

    private mutating func spawned(_ pid: Int32, _ turn: inout Turn) {
        guard life == .idle else { return }
        let requests = launch.requests
        become(.launching, &turn)
        launch.spawned(&turn)
        let isHidden = turn.spec.lifecycle.launchesInBackground
        watches.duties.beginLaunch(
            within: isHidden ? turn.spec.lifecycle.backgroundLaunch : turn.spec.allowances.launch, &turn)
        if isHidden { withLifecycle { lifecycle, _ in lifecycle.beginLaunch(turn) } }
        turn.announce(.launched(pid: pid))
        turn.perform(.beginWindow)
        switch turn.spec.readiness {
        case .none: becomeReady(.exec, &turn)
        case .listening, .command: launch.beginProbes(turn)
        case .probe, .automatic: watches.beginLaunchProbes(turn)
        case .channel, .notify: break
        }
        for _ in 0..<requests { terminate(isRequested: true, &turn) }
    }

    private mutating func becomeReady(_ source: ReadinessSource, _ turn: inout Turn) {
        watches.endLaunch(by: source, &turn)
        become(.running, &turn)
        withChangedLifecycle { lifecycle, _ in lifecycle.ready(&turn) }
        launch.ready(source, &turn)
        _ = watches.duties.beginUpdates(&turn)
        watches.beginProbes(turn)
        withChangedLifecycle { lifecycle, watches in
            lifecycle.beginStayIfHidden(&turn)
            lifecycle.advanceToGoal(&watches, &turn)
        }
    }

    private mutating func ponged(_ nonce: UInt64, _ turn: inout Turn) {
        switch watches.duties.answered(nonce, &turn) {
        case .nothing: break
        case .first: watches.duties.hello(&turn)
        case .inTime:
            if !_changedLifecycle.isEmpty {
                if lifecycle.isAnswerAwaited { withLifecycle { lifecycle, _ in lifecycle.resumeAnswered(&turn) } }
                if let allowance = lifecycle.firstObligation {
                    return watches.duties.beginObligation(within: allowance, &turn)
                }
            }
            watches.duties.scheduleNextPing(turn)
        }
    }

    // MARK: - Deadlines and incidents

    private mutating func deadlineReached(_ turn: inout Turn) {
        if watches.incidents.isCapturing {
            guard let capture = watches.incidents.capture, turn.now >= capture.budgetEnd else { return }
            turn.announce(.captureTimedOut)
            return captureEnded(&turn)
        }
        switch life {
        case .idle, .ended: break
        case .dying:
            guard death.isBudgetSpent(at: turn.now) else { return death.handle(.due, &turn) }
            turn.announce(.unkillable)
            conclude(isVerified: false, &turn)
        case .launching, .running, .terminating:
            follow(watches.triggerDue(&turn), nil, &turn)
            if watches.dutyDue(&turn) { becomeReady(.assumed, &turn) }
            guard !watches.incidents.isCapturing else { return }
            watches.duties.observationDue(&turn)
            watches.duties.slownessDue(&turn)
            withChangedLifecycle { $0.due(&$1, &turn) }
            guard !watches.incidents.isCapturing else { return }
            watches.duties.pingDue(&turn)
            launch.probeDue(&turn)
            watches.probeDue(&turn)
        }
    }

    private mutating func follow(
        _ outcome: TriggerWatch.Outcome, _ evidence: Evidence?, _ turn: inout Turn
    ) {
        switch outcome {
        case .nothing: break
        case .decided:
            guard let reason = watches.triggerReason else { return }
            var cause = Incident.Cause.triggered
            withLifecycle { lifecycle, _ in cause = lifecycle.decided(reason, turn) }
            watches.decideTrigger(cause, on: evidence, &turn)
        case .postponed(let judgement):
            watches.postponeTrigger()
            withLifecycle { $0.postponed(judgement, &$1, &turn) }
        }
    }

    /// Moves on toward death if the incident is enforced, if the app died in the meantime, or if the end was requested
    /// twice.
    private mutating func captureEnded(_ turn: inout Turn) {
        guard let ended = watches.endCapture(&turn) else { return }
        if !ended.incident.isEnforced, death.status == nil {
            guard ended.isKillRequested else {
                watches.handle(.captureEnded, &turn)
                return withChangedLifecycle { $0.advanceToGoal(&$1, &turn) }
            }
            death.requestKill()
        }
        beginDying(isAsked: !ended.incident.isEnforced && !ended.isKillRequested, &turn)
    }

    // MARK: - Death

    private mutating func terminate(isRequested: Bool, _ turn: inout Turn) {
        switch life {
        case .idle:
            guard isRequested, !launch.requestTermination() else { return }
            finish(.terminated, isVerified: true, &turn)
        case .launching, .running:
            guard turn.isSuspended else { return beginTermination(isRequested: isRequested, &turn) }
            // A suspended app cannot handle a request to end. Its own STOPPING=1 was sent before the freeze, so let it
            // end.
            guard !isRequested else { return killOnRequest(&turn) }
            turn.perform(.thaw)
            beginTermination(isRequested: false, &turn)
        case .terminating(isRequested: false):
            guard isRequested else { return }
            become(.terminating(isRequested: true), &turn)
            watches.duties.requestTermination()
            turn.announce(.terminating(isRequested: true))
            turn.perform(.terminate)
        case .terminating(isRequested: true):
            if isRequested { killOnRequest(&turn) }
        case .dying: if isRequested, death.isAsking { death.kill(&turn) }
        case .ended: break
        }
    }

    private mutating func beginTermination(isRequested: Bool, _ turn: inout Turn) {
        watches.beginTermination(&turn)
        become(.terminating(isRequested: isRequested), &turn)
        watches.duties.beginTermination(isRequested: isRequested, turn)
        launch.end()
        withLifecycle { lifecycle, _ in lifecycle.terminating(&turn) }
        turn.announce(.terminating(isRequested: isRequested))
        turn.perform(.beginWindow)
        if isRequested { turn.perform(.terminate) }
    }

    /// Kills the app, after a capture in progress.
    private mutating func killOnRequest(_ turn: inout Turn) {
        guard !watches.incidents.isCapturing else { return watches.requestKill() }
        death.requestKill()
        beginDying(isAsked: false, &turn)
    }

    /// - Parameter isAsked: whether the main process ended by itself, so that what it left behind is asked to end.
    private mutating func beginDying(isAsked: Bool, _ turn: inout Turn) {
        watches.end(&turn)
        launch.end()
        withChangedLifecycle { lifecycle, _ in lifecycle.end(&turn) }
        death.begin(isAsked: isAsked, &turn)
        become(.dying, &turn)
        concludeIfDead(&turn)
    }

    private mutating func exited(_ status: ExitStatus, _ turn: inout Turn) {
        guard life != .idle, death.exited(status) else { return }
        turn.announce(.exited(status))
        if life == .dying {
            concludeIfDead(&turn)
        } else if !watches.incidents.isCapturing {
            beginDying(isAsked: true, &turn)
        }
    }

    /// Counts only after the main process ended or was killed: the effects that end the tree are answered again.
    private mutating func treeEmptied(_ turn: inout Turn) {
        guard life == .dying || death.status != nil || watches.incidents.isKillPending else { return }
        death.treeEmptied()
        concludeIfDead(&turn)
    }

    private mutating func concludeIfDead(_ turn: inout Turn) {
        if life == .dying, death.isVerified { conclude(isVerified: true, &turn) }
    }

    private mutating func conclude(isVerified: Bool, _ turn: inout Turn) {
        let incident = watches.endKill(isDeathVerified: isVerified, &turn)
        finish(death.cause(incident), isVerified: isVerified, &turn)
    }

    private mutating func finish(_ cause: Outcome.Cause, isVerified: Bool, _ turn: inout Turn) {
        let outcome = Outcome(cause: cause, status: death.status, isDeathVerified: isVerified)
        become(.ended(outcome), &turn)
        death.conclude()
        turn.perform(.finish(outcome))
    }

    // MARK: - The supervisor's restart

    /// Repeats every request whose answer may have been lost.
    private mutating func supervisorReturned(isLastStepDone: Bool, _ turn: inout Turn) {
        watches.endUnattended(&turn)
        guard !watches.incidents.isCapturing else { return watches.captureAgain(&turn) }
        switch life {
        case .idle, .ended: break
        case .dying: death.returned(&turn)
        case .launching, .running, .terminating:
            if !isLastStepDone, life == .terminating(isRequested: true) { turn.perform(.terminate) }
            // Its own end also ended its suspension.
            if !isLastStepDone, life == .terminating(isRequested: false), lifecycle.isToBeSuspended {
                turn.perform(.thaw)
            }
            if life == .launching { launch.returned(&turn) }
            watches.returned(&turn)
            withChangedLifecycle { lifecycle, _ in lifecycle.returned(&turn) }
        }
    }

    /// The app is assumed to be running and healthy; nothing before its adoption counts against it.
    private mutating func adopted(_ pid: Int32, _ turn: inout Turn) {
        guard life == .idle, !launch.isSpawning else { return }
        become(.running, &turn)
        launch.adopted(at: turn.now)
        withLifecycle { lifecycle, _ in lifecycle.adopted(at: turn.now) }
        turn.announce(.adopted(pid: pid))
        turn.perform(.beginWindow)
        watches.duties.adopt(&turn)
        watches.beginProbes(turn)
    }

    private mutating func channelLost(_ turn: inout Turn) {
        withChangedLifecycle { $0.channelLost(&$1, &turn) }
        let answersPings = watches.duties.answersPings
        let isAwaited = turn.spec.readiness == .channel || (turn.spec.readiness == .automatic && answersPings)
        if answersPings || isAwaited { turn.announce(.channelLost) }
        watches.duties.noteSilence(turn)
        watches.duties.channelLost(&turn)
        if life == .launching, isAwaited { becomeReady(.assumed, &turn) }
    }
}

// MARK: - Saved state

extension Stages {
    mutating func exchange(_ passing: inout Watches.Passing) { watches.exchange(&passing) }
    mutating func leaveUnattended() { watches.duties.setUnattended(true) }
    mutating func restore(_ pulse: ProcessMachine.Pulse) { watches.duties.restore(pulse) }

    init(_ saved: SavedProcess) {
        life = saved.life
        launch = LaunchWatch(saved.launch)
        watches = Watches(saved.watches)
        death = Death(saved.death, allowance: saved.spec.allowances.terminate)
        changedLifecycle = saved.lifecycle.map { Lifecycle($0) }
    }

    func saved(_ spec: Shared<AppSpec>, examinations: Int) -> SavedProcess {
        SavedProcess(
            spec: spec, life: life, launch: launch.saved, watches: watches.saved, death: death.saved,
            examinations: examinations, lifecycle: changedLifecycle?.saved)
    }
}
