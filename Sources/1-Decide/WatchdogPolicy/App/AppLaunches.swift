// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The launches of an app: where the current one is, and what is still kept of those before it.
///
/// Leads each launch from its creation to its release. ``AppMachine`` decides what follows an end.
struct AppLaunches {
    private static let inspectionInterval = Duration.seconds(1)

    private var state: AppState
    private var past: PastLaunches

    init(resuming saved: SavedApp?) {
        state = .inheriting(saved?.stage)
        past = PastLaunches(accounted: saved?.accounted ?? [])
    }

    // MARK: - What can be seen

    var phase: AppPhase { state.phase }
    var current: LaunchID? { state.current }
    var deadline: Instant? { state.deadline }
    /// Nil for an app that the next watchdogd should not know.
    var saved: SavedApp.Stage? { state.saved }
    /// Those whose ends are accounted for, of which something may still be saved.
    var accounted: [LaunchID] { past.accounted }
    /// Those that outlived a newer one, and are being ended.
    var ending: [LaunchID] { past.ending }
    /// Whether nothing runs, and nothing is still being written.
    var isAtRest: Bool { current == nil && past.isEmpty && !state.isReporting }

    var isInheriting: Bool {
        if case .inheriting = state { true } else { false }
    }

    /// Where the app is, for an operator's request: only an app that has begun, and is not forgotten, gets one.
    var phaseForOperators: AppPhase {
        switch state {
        case .inheriting, .forgotten: preconditionFailure("requests are for an app that has begun")
        case .stopped, .creating, .preparing, .live, .waiting, .failed, .unkillable: state.phase
        }
    }

    func isPast(_ launch: LaunchID) -> Bool { past.contains(launch) }

    // MARK: - Inheritance

    /// Takes a launch that the previous watchdogd left; the latest comes first.
    ///
    /// - Returns: whether it is the current one from now on.
    mutating func inherit(_ launch: LaunchID, isOver: Bool) -> Bool {
        if past.contains(launch) {
            // It may be older than the latest: of a launch without a process it is not known when it was.
            past.put(launch, .reporting)
        } else if case .inheriting = state {
            state = .live(launch, silence: nil)
            return true
        } else {
            past.put(launch, isOver ? .reporting : .ending)
        }
        return false
    }

    /// No process of an inherited launch was ever started.
    ///
    /// The app is launched when all is known: this watchdogd may have been killed here before, so that a newer launch runs
    /// already.
    mutating func hasNotRun(_ launch: LaunchID, _ step: inout AppStep) {
        if current == launch { state = .inheriting(.preparing) }
        release(launch, isReporting: false, &step)
    }

    mutating func adopt(_ launch: LaunchID, _ step: inout AppStep) {
        switch state {
        case .inheriting, .stopped, .waiting, .failed: break
        case .creating, .preparing, .live, .unkillable, .forgotten:
            preconditionFailure("an app that runs, or is forgotten, adopts no process")
        }
        state = .live(launch, silence: nil)
        step.add(.adopt(launch))
    }

    /// All that the previous watchdogd left is known.
    ///
    /// - Returns: where the app was; nil if a launch was resumed or adopted, or nothing was saved.
    mutating func begin() -> SavedApp.Stage? {
        past.removeUnfound()
        guard case .inheriting(let stage) = state else { return nil }
        state = .stopped
        return stage
    }

    // MARK: - From one launch to the next

    mutating func create(_ step: inout AppStep) {
        state = .creating
        step.add(.create)
    }

    mutating func created(_ launch: LaunchID, hasPreparations: Bool, _ step: inout AppStep) {
        guard case .creating = state else { preconditionFailure("a launch is created only when one is asked for") }
        state = hasPreparations ? .preparing(launch) : .live(launch, silence: nil)
        // Once a command has run, the launch has begun, also for the next watchdogd.
        if hasPreparations { step.add(.save, .prepare(launch)) } else { step.add(.start(launch)) }
    }

    mutating func prepared(_ launch: LaunchID, _ step: inout AppStep) {
        // The commands may end in the turn in which the launch is cancelled.
        guard case .preparing(launch) = state else { return }
        state = .live(launch, silence: nil)
        step.add(.start(launch))
    }

    /// - Returns: false when the launch was cancelled in the same turn.
    mutating func preparationFailed(_ launch: LaunchID, _ step: inout AppStep) -> Bool {
        guard case .preparing(launch) = state else { return false }
        release(launch, isReporting: false, &step)
        return true
    }

    /// Inspects the process at `instant`: one that has sent nothing by then counts as ready.
    mutating func expectSilence(of launch: LaunchID, until instant: Instant) {
        state = .live(launch, silence: instant)
    }

    /// - Returns: false if another launch is current by now.
    mutating func ready(_ launch: LaunchID) -> Bool {
        guard case .live(launch, _) = state else { return false }
        state = .live(launch, silence: nil)
        return true
    }

    mutating func inspect(_ step: inout AppStep) {
        switch state {
        case .live(let launch, _):
            state = .live(launch, silence: nil)
            step.add(.inspect(launch))
        case .unkillable(var remains):
            remains.inspection = step.now + Self.inspectionInterval
            state = .unkillable(remains)
            step.add(.inspect(remains.launch))
        case .inheriting, .stopped, .creating, .preparing, .waiting, .failed, .forgotten:
            preconditionFailure("these states have nothing to inspect")
        }
    }

    // MARK: - Ends

    /// Ends what runs or is due.
    ///
    /// - Returns: whether it ended at once, because there was no process yet.
    mutating func end(_ step: inout AppStep) -> Bool {
        switch state {
        case .live(let launch, _):
            step.add(.terminate(launch))
            return false
        case .creating:
            step.add(.cancelCreation)
            return true
        case .preparing(let launch):
            cancelPreparation(&step)
            release(launch, isReporting: false, &step)
            return true
        case .waiting: return true
        case .stopped, .failed, .unkillable, .forgotten: return false
        case .inheriting: preconditionFailure("only an app that has begun is ended")
        }
    }

    mutating func cancelPreparation(_ step: inout AppStep) {
        if case .preparing(let launch) = state { step.add(.cancelPreparation(launch)) }
    }

    /// Processes of the current launch survive SIGKILL.
    mutating func survivedKill(_ launch: LaunchID, _ end: AppEvent.End, at now: Instant) {
        state = .unkillable(
            .init(launch: launch, outcome: end.outcome, inspection: now, isReporting: end.hasPendingReports))
    }

    /// No process of a launch is left.
    ///
    /// - Returns: how it ended; nil unless its processes had survived SIGKILL.
    mutating func remainsGone(_ launch: LaunchID, _ step: inout AppStep) -> Outcome? {
        guard case .unkillable(let remains) = state, remains.launch == launch else { return nil }
        release(launch, isReporting: remains.isReporting, &step)
        return Outcome(cause: remains.outcome.cause, status: remains.outcome.status, isDeathVerified: true)
    }

    /// Gives up a launch whose end is accounted for, at once or when its reports are written.
    mutating func release(_ launch: LaunchID, isReporting: Bool, _ step: inout AppStep) {
        past.put(launch, isReporting ? .reporting : .releasing)
        if !isReporting { step.add(.release(launch)) }
    }

    mutating func reported(_ launch: LaunchID, _ step: inout AppStep) {
        if case .unkillable(var remains) = state, remains.launch == launch {
            remains.isReporting = false
            state = .unkillable(remains)
        }
        if past.stage(of: launch) == .reporting { release(launch, isReporting: false, &step) }
    }

    mutating func released(_ launch: LaunchID) { past.remove(launch) }

    // MARK: - Between launches

    mutating func stop() { state = .stopped }
    mutating func fail() { state = .failed }
    mutating func wait(until instant: Instant) { state = .waiting(until: instant) }

    mutating func forget(_ step: inout AppStep) {
        state = .forgotten
        step.add(.forget)
    }

    /// Forgets an app that is down; any other is forgotten when it has ended.
    mutating func forgetIfDown(_ step: inout AppStep) {
        switch state {
        case .stopped, .failed: forget(&step)
        case .inheriting, .creating, .preparing, .live, .waiting, .unkillable, .forgotten: break
        }
    }
}
