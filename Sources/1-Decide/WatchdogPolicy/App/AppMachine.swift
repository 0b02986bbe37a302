// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// Decides the life of an app from launch to launch: when it is launched, ended and forgotten, and who gets which
/// answer.
///
/// Each launch's process has a ``ProcessMachine`` of its own; this machine learns how a launch begins and ends. It
/// refers to launches by their identifiers, holds no references and reads no clock.
///
/// Invariants: one launch at a time; each launch counts once, and its end is accounted for once, however many
/// watchdogds see it; an app that somebody stopped stays down; each ``AppWaiter`` gets one answer.
///
/// Isolation: a value; its holder serializes the calls.
public struct AppMachine: Sendable {
    /// The time after which a process that may be silent, and is, counts as ready.
    public static let silenceLimit = Duration.seconds(2)

    /// What the configuration says.
    public private(set) var standing: AppStanding
    /// How often somebody asked for a restart.
    public private(set) var requestedRestarts = 0

    /// The latest launch that is counted.
    public private(set) var counted: LaunchID?

    private var launches: AppLaunches
    private var afterEnd = SavedApp.AfterEnd.asConfigured
    private var isShuttingDown = false
    private var restarts: RestartMachine
    private var waiters = AppWaiters()

    /// Creates the machine of an app; ``AppEvent/begun`` is to follow.
    ///
    /// - Parameters:
    ///   - standing: what the configuration says.
    ///   - settings: when to restart.
    ///   - seed: where the jitter of restarts starts; each app needs its own.
    ///   - saved: what the previous watchdogd saved.
    public init(
        _ standing: AppStanding, restart settings: Shared<RestartSettings>, seed: UInt64,
        resuming saved: SavedApp? = nil
    ) {
        self.standing = standing
        launches = AppLaunches(resuming: saved)
        restarts = RestartMachine(settings: settings, seed: seed, resuming: saved?.restarts)
        guard let saved else { return }
        afterEnd = saved.afterEnd
        requestedRestarts = saved.requestedRestarts
        counted = saved.counted
    }

    // MARK: - What can be seen

    /// Where the app is.
    public var phase: AppPhase { launches.phase }

    /// The launch that can still be changed.
    public var current: LaunchID? { launches.current }

    /// Whether it is still unknown what the previous watchdogd left.
    public var isInheriting: Bool { launches.isInheriting }

    /// When to send ``AppEvent/deadlineReached``; nil for never.
    public var nextDeadline: Instant? { launches.deadline }

    /// Whether watchdogd can end without leaving anything of the app that it could still end or report.
    public var isAtRest: Bool { launches.isAtRest }

    /// The number of automatic restarts so far.
    public var restartCount: Int { restarts.restarts }

    /// The number of automatic restarts by what had ended the app.
    public var restartsByCause: [RestartSettings.Cause: Int] { restarts.restartsByCause }

    /// The limit that keeps the app down, or its next launch away.
    public var reachedLimit: RestartSettings.ReachedLimit? {
        switch phase {
        case .waiting, .failed: restarts.reachedLimit
        case .stopped, .creating, .preparing, .live, .unkillable: nil
        }
    }

    /// What to keep for the next watchdogd; nil for nothing, so that it begins anew.
    public var saved: SavedApp? {
        guard let stage = launches.saved, !isShuttingDown || current != nil else { return nil }
        // The reader of this follows a watchdogd that was shutting down, or has found the file again.
        let isWanted = isShuttingDown ? standing == .enabled : standing == .removed
        return SavedApp(
            stage: stage, afterEnd: isWanted ? .relaunch : afterEnd, restarts: restarts.saved,
            requestedRestarts: requestedRestarts, accounted: launches.accounted, counted: counted)
    }

    // MARK: - Events in, effects out

    /// Handles an event.
    ///
    /// - Parameters:
    ///   - event: what happened.
    ///   - now: when; never earlier than at the call before.
    /// - Returns: what to do, in order.
    public mutating func handle(_ event: AppEvent, at now: Instant) -> [AppEffect] {
        // Not worth a write: the next watchdogd drops an end without a launch.
        if case .released(let launch) = event {
            launches.released(launch)
            return []
        }
        let before = saved
        var step = AppStep(now: now)
        perform(event, &step)
        if !step.effects.contains(.save), saved != before { step.effects.insert(.saveSoon, at: 0) }
        return step.effects
    }

    private mutating func perform(_ event: AppEvent, _ step: inout AppStep) {
        switch event {
        case .inherited(let launch, let isOver):
            let isCurrent = launches.inherit(launch, isOver: isOver)
            // The app was saved before this launch, which fulfills the request from then.
            if isCurrent, counted != launch { afterEnd = .asConfigured }
            step.add(.resume(launch))
        case .resumed(let launch, let resumption): resumed(launch, resumption, &step)
        case .found(let launch): found(launch, &step)
        case .begun: begin(&step)
        case .created(let launch, let hasPreparations):
            // It may be created at once, and wait behind the event that cancels it.
            guard isLaunching else { return launches.release(launch, isReporting: false, &step) }
            counted = launch
            launches.created(launch, hasPreparations: hasPreparations, &step)
        case .creationFailed(let reason):
            if isLaunching { launchFailed(reason, &step) }
        case .prepared(let launch): launches.prepared(launch, &step)
        case .preparationFailed(let launch, let reason):
            if launches.preparationFailed(launch, &step) { launchFailed(reason, &step) }
        case .launched(let launch, let mayBeSilent):
            guard phase == .live(launch) else { break }
            waiters.launched(.running(launch), &step)
            if mayBeSilent { launches.expectSilence(of: launch, until: step.now + Self.silenceLimit) }
        case .ready(let launch): ready(launch, &step)
        case .inspected(let launch, let isSilent, let isGone):
            inspected(launch, isSilent: isSilent, isGone: isGone, &step)
        case .ended(let launch, let end): ended(launch, end, &step)
        case .reported(let launch): launches.reported(launch, &step)
        case .released: break
        case .deadlineReached: deadlineReached(&step)
        case .timerFailed(let reason): timerFailed(reason, &step)
        case .launchRequested(let waiter): launchRequested(waiter, &step)
        case .terminationRequested(let waiter): terminationRequested(waiter, &step)
        case .restartRequested(let waiter):
            guard isLaunching || current != nil else { return launchRequested(waiter, &step) }
            requestedRestarts += 1
            waiters.waitForLaunch(waiter)
            end(.relaunch, &step)
        case .configured(let restart, let isEnabled, let needsNewProcess):
            restarts.update(restart)
            configured(isEnabled: isEnabled, needsNewProcess: needsNewProcess, &step)
        case .unconfigured:
            // A process that was asked to end is not killed because the file is still gone.
            guard standing != .removed else { break }
            standing = .removed
            end(.stop, &step)
        case .shutDown:
            isShuttingDown = true
            end(.stop, &step)
            for launch in launches.ending { step.add(.terminate(launch)) }
        }
    }

    // MARK: - Inheritance

    private mutating func resumed(_ launch: LaunchID, _ resumption: AppEvent.Resumption, _ step: inout AppStep) {
        let isCurrent = current == launch
        switch resumption {
        case .present(let launchedAt, let isEnding):
            if isCurrent { count(launch, at: launchedAt ?? step.now) }
            let isUnwanted =
                isCurrent ? afterEnd != .asConfigured || standing == .removed : launches.ending.contains(launch)
            if isUnwanted, !isEnding { step.add(.terminate(launch)) }
        case .absent(let launchedAt, hasRun: true) where isCurrent:
            count(launch, at: launchedAt ?? step.now)
            step.add(.killRemains(launch))
            launches.release(launch, isReporting: false, &step)
            endedUnseen(&step)
        case .absent: launches.hasNotRun(launch, &step)
        }
    }

    private mutating func found(_ launch: LaunchID, _ step: inout AppStep) {
        launches.adopt(launch, &step)
        if counted != launch { afterEnd = .asConfigured }
        count(launch, at: step.now)
        if afterEnd != .asConfigured { step.add(.terminate(launch)) }
    }

    private mutating func begin(_ step: inout AppStep) {
        let isResumed = !isInheriting
        let stage = launches.begin()
        guard !isResumed else { return }
        guard isConfigured else { return launches.forget(&step) }
        switch stage {
        case nil, .unkillable: if standing == .enabled { create(&step) }
        case .stopped: break
        case .failed: launches.fail()
        case .preparing: if afterEnd != .stop { create(&step) }
        case .waiting(let instant): launches.wait(until: max(instant, step.now))
        case .live: endedUnseen(&step)
        }
    }

    private mutating func endedUnseen(_ step: inout AppStep) {
        step.add(.publish(.endedUnseen))
        settle(Outcome(cause: .exited, status: .unknown, isDeathVerified: true), reason: "it has ended", &step)
    }

    // MARK: - Launches

    private var isLaunching: Bool { phase == .creating }

    private var isConfigured: Bool { standing == .enabled || standing == .disabled }

    private mutating func create(_ step: inout AppStep) {
        afterEnd = .asConfigured
        restarts.launched(at: step.now)
        launches.create(&step)
    }

    /// Each launch counts once, however many watchdogds see it.
    private mutating func count(_ launch: LaunchID, at instant: Instant) {
        if counted != launch { restarts.launched(at: instant) }
        counted = launch
    }

    private mutating func launchFailed(_ reason: String, _ step: inout AppStep) {
        step.add(.publish(.launchFailed(reason: reason)))
        settle(Outcome(cause: .spawnFailed, status: nil, isDeathVerified: true), reason: reason, &step)
    }

    private mutating func ready(_ launch: LaunchID, _ step: inout AppStep) {
        guard launches.ready(launch) else { return }
        restarts.ready(at: step.now)
        waiters.launchConcluded(.running(launch), &step)
    }

    // MARK: - Ends

    private mutating func ended(_ launch: LaunchID, _ end: AppEvent.End, _ step: inout AppStep) {
        guard !launches.isPast(launch) else {
            return launches.release(launch, isReporting: end.hasPendingReports, &step)
        }
        guard current == launch else { preconditionFailure("a launch ends once") }
        // Who runs a program in the foreground may end it before its process exists.
        launches.cancelPreparation(&step)
        let outcome = end.outcome
        guard outcome.isDeathVerified else {
            launches.survivedKill(launch, end, at: step.now)
            return waiters.giveUp(.unkillable(launch), &step)
        }
        if outcome.cause == .spawnFailed {
            step.add(.publish(.launchFailed(reason: end.reason)))
        } else if outcome.cause == .exited, let status = outcome.status, afterEnd == .asConfigured {
            step.add(.publish(.exited(launch, status)))
        }
        launches.release(launch, isReporting: end.hasPendingReports, &step)
        settle(outcome, isCausedByMemory: end.isCausedByMemory, reason: end.reason, &step)
    }

    private mutating func inspected(_ launch: LaunchID, isSilent: Bool, isGone: Bool, _ step: inout AppStep) {
        if isSilent { ready(launch, &step) }
        guard isGone, let outcome = launches.remainsGone(launch, &step) else { return }
        step.add(.publish(.remainsGone))
        settle(outcome, reason: "it was killed", &step)
    }

    /// Decides what follows an end.
    private mutating func settle(
        _ outcome: Outcome, isCausedByMemory: Bool = false, reason: String, _ step: inout AppStep
    ) {
        waiters.ended(&step)
        launches.stop()
        let decision = restarts.ended(
            outcome, wasRequested: afterEnd != .asConfigured || !isConfigured, causedByMemory: isCausedByMemory,
            at: step.now)
        guard afterEnd != .relaunch || !isConfigured else {
            restarts.reset()
            // Not immediately: a launch that fails immediately comes back here.
            launches.wait(until: step.now)
            return
        }
        // A process that did its work was launched.
        let isDone = decision == .stay(.policy) && outcome.cause == .exited && outcome.status == .exited(code: 0)
        waiters.launchConcluded(isDone ? .done(reason: reason) : .launchFailed(reason: reason), &step)
        guard isConfigured else { return launches.forget(&step) }
        switch decision {
        case .restart(let next, _), .limitReached(_, let next?): launches.wait(until: next)
        case .limitReached(_, nil): launches.fail()
        case .stay: return
        }
        step.add(.publish(.decided(decision, outcome, limit: restarts.reachedLimit)))
    }

    // MARK: - Time

    private mutating func deadlineReached(_ step: inout AppStep) {
        // The timer may fire in the turn in which something else has moved the deadline.
        guard let nextDeadline, nextDeadline <= step.now else { return }
        if case .waiting = phase { create(&step) } else { launches.inspect(&step) }
    }

    private mutating func timerFailed(_ reason: String, _ step: inout AppStep) {
        // A launch does not depend on its deadline.
        guard case .waiting = phase else { return }
        launches.fail()
        step.add(.publish(.restartImpossible(reason: reason)))
        waiters.launchConcluded(.launchFailed(reason: reason), &step)
    }

    // MARK: - Operators

    private mutating func launchRequested(_ waiter: AppWaiter, _ step: inout AppStep) {
        switch launches.phaseForOperators {
        case .creating, .preparing, .live: step.add(.answer(waiter.id, .alreadyRunning(current)))
        case .unkillable(let launch): step.add(.answer(waiter.id, .unkillable(launch)))
        case .stopped, .waiting, .failed:
            restarts.reset()
            waiters.waitForLaunch(waiter)
            create(&step)
        }
    }

    private mutating func terminationRequested(_ waiter: AppWaiter, _ step: inout AppStep) {
        switch launches.phaseForOperators {
        case .stopped, .failed: step.add(.answer(waiter.id, .notRunning))
        case .unkillable(let launch): step.add(.answer(waiter.id, .unkillable(launch)))
        case .creating, .preparing, .live, .waiting:
            if waiter.waits {
                waiters.waitForEnd(waiter)
            } else {
                step.add(.answer(waiter.id, .terminated(isGone: !isLaunching && current == nil)))
            }
            end(.stop, &step)
        }
    }

    private mutating func configured(isEnabled: Bool, needsNewProcess: Bool, _ step: inout AppStep) {
        let former = standing
        standing = isEnabled ? .enabled : .disabled
        guard former != .removed else {
            // The file is there again while the process is being ended.
            afterEnd = isEnabled ? .relaunch : .stop
            return
        }
        let isNewlyEnabled = isEnabled && former == .disabled
        switch launches.phaseForOperators {
        case .creating, .preparing, .live:
            guard needsNewProcess else { break }
            if afterEnd == .asConfigured { return end(isEnabled ? .relaunch : .stop, &step) }
            // The process is being ended; an app that somebody stopped stays down.
            if !isEnabled { afterEnd = .stop }
        case .waiting, .failed:
            if isNewlyEnabled || (needsNewProcess && isEnabled) { return create(&step) }
            if needsNewProcess { end(.stop, &step) }
        // An app that somebody stopped, or that did its work, stays down.
        case .stopped: if isNewlyEnabled { create(&step) }
        case .unkillable: break
        }
    }

    private mutating func end(_ afterEnd: SavedApp.AfterEnd, _ step: inout AppStep) {
        self.afterEnd = afterEnd
        // If watchdogd is killed next, the following one must know what follows the end.
        step.add(.save)
        if launches.end(&step) {
            let outcome = Outcome(cause: .terminated, status: nil, isDeathVerified: true)
            settle(outcome, reason: "it was terminated", &step)
        } else if !isConfigured {
            launches.forgetIfDown(&step)
        }
    }
}
