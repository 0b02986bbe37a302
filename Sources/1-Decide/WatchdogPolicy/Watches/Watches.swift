// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Everything that judges one process: its duties, liveness probes, triggers, and the resulting incidents.
///
/// The watches do not know each other; what concerns several of them is decided here.
struct Watches: Equatable, Sendable {
    var duties: Duties
    @Boxed private var probes: ProbeWatch?
    @Boxed private var trigger: TriggerWatch?
    private(set) var incidents = IncidentBook()
    /// When the process was stopped by a signal, as far as is known.
    private var stoppedSince: Instant?

    init(nonceSeed: UInt64) {
        duties = Duties(nonceSeed: nonceSeed)
    }

    // MARK: - Questions

    var isProbeImpossible: Bool { probes?.isImpossible ?? false }
    /// The silence of an app that somebody has stopped, as far as is known, or that is frozen or traced by somebody.
    var heldSilence: Silence? {
        if let stoppedSince { return Silence(reason: .held(.stopped), since: stoppedSince) }
        guard let held = duties.judgement?.held ?? probes?.held else { return nil }
        return Silence(reason: .held(held.pause), since: held.since)
    }

    /// What an app that is ready owes.
    func silence(at now: Instant, _ spec: AppSpec) -> Silence? {
        let all = [duties.allowance?.silence(at: now, spec), $probes.isEmpty ? nil : probes?.silence(spec)]
        return all.compactMap(\.self).min { $0.since < $1.since }
    }
    var isProbed: Bool { !$probes.isEmpty }
    var triggerReason: TriggerWatch.Reason? { trigger?.reason }
    /// Whether an incident is decided, or about to be.
    var isJudging: Bool { !$trigger.isEmpty || incidents.isCapturing }

    /// Whether an incident is open: decided, and not over yet.
    var isInIncident: Bool {
        incidents.isCapturing || incidents.isKilling || duties.isDecided
            || (!$probes.isEmpty && probes?.isDecided == true)
    }

    /// When any of the watches needs attention.
    func due(_ spec: Shared<AppSpec>, isSuspended: Bool) -> Instant? {
        var due = duties.due(spec)
        if !$trigger.isEmpty { due = .earliest(due, trigger?.due) }
        // A suspended app is not probed.
        if !$probes.isEmpty, !isSuspended { due = .earliest(due, probes?.due) }
        return due
    }

    // MARK: - Stages of life

    /// Starts the probes that detect readiness.
    mutating func beginLaunchProbes(_ turn: Turn) {
        guard turn.spec.livenessProbe != nil else { return }
        probes = ProbeWatch(nextProbe: turn.now + turn.spec.probeInterval)
    }

    /// With ``Readiness/automatic``, ends the probes of the launch once the app has spoken: it must then say that it is
    /// ready.
    mutating func followLaunch(_ turn: inout Turn) {
        guard turn.life == .launching, turn.spec.readiness == .automatic, duties.hasSpoken else { return }
        dropProbes(&turn)
    }

    /// Ends the launch, and the probes of the launch unless one of them has ended it.
    mutating func endLaunch(by source: ReadinessSource, _ turn: inout Turn) {
        duties.endLaunch(&turn)
        let isAnswered = turn.spec.readiness == .probe || (source == .probe && !duties.hasSpoken)
        if !isAnswered { dropProbes(&turn) }
    }

    mutating func beginProbes(_ turn: Turn) {
        guard turn.spec.livenessProbe != nil else { return }
        if $probes.isEmpty { probes = ProbeWatch(nextProbe: turn.now) } else { probes?.schedule(turn) }
    }

    /// The app was asked to end, or is ending by itself.
    mutating func beginTermination(_ turn: inout Turn) {
        duties.noteSilence(turn)
        duties.suspend(&turn)
        dropTrigger(&turn)
        dropProbes(&turn)
    }

    /// Drops all watches of a condemned process.
    mutating func end(_ turn: inout Turn) {
        duties.noteSilence(turn)
        duties.end()
        trigger = nil
        dropProbes(&turn)
    }

    /// Drops the allowances of an app that is about to be frozen; it gets fresh ones when it runs again.
    mutating func suspend(_ turn: inout Turn) {
        duties.suspend(&turn)
        withProbes(turn) { probes, _ in probes.suspend(&turn) }
    }

    private mutating func dropProbes(_ turn: inout Turn) {
        guard !$probes.isEmpty else { return }
        probes?.cancel(&turn)
        probes = nil
    }

    // MARK: - Triggers

    /// Handles the app's request for an incident.
    mutating func trigger(_ turn: inout Turn) {
        duties.speak()
        guard turn.life == .launching || turn.life == .running, !isInIncident, $trigger.isEmpty else { return }
        if duties.judgement == nil { turn.perform(.beginWindow) }
        let judgement = duties.judgement ?? Judgement(.sceneUpdate, from: turn.now, allowance: .zero)
        beginTrigger(.asked, judgement.unexcused(at: turn.now), &turn)
    }

    mutating func beginTrigger(_ reason: TriggerWatch.Reason, _ judgement: Judgement, _ turn: inout Turn) {
        guard !isJudging else { return }
        trigger = TriggerWatch(reason, judgement, &turn)
    }

    mutating func triggerDue(_ turn: inout Turn) -> TriggerWatch.Outcome {
        guard !$trigger.isEmpty, let due = trigger?.due, turn.now >= due else { return .nothing }
        return trigger?.handle(.due, &turn) ?? .nothing
    }

    mutating func dropTrigger(_ turn: inout Turn) {
        guard !$trigger.isEmpty else { return }
        trigger?.end(&turn)
        trigger = nil
    }

    /// Turns the trigger into an incident.
    mutating func decideTrigger(_ cause: Incident.Cause, on evidence: Evidence?, _ turn: inout Turn) {
        guard let judgement = trigger?.judgement else { return }
        trigger = nil
        incidents.open(cause, judgement, on: evidence, &turn)
    }

    /// Drops the trigger, because background tasks got more time.
    mutating func postponeTrigger() { trigger = nil }

    // MARK: - Judgement

    private mutating func decide(
        _ cause: Incident.Cause, _ judgement: Judgement, on evidence: Evidence?, _ turn: inout Turn
    ) {
        dropTrigger(&turn)
        incidents.open(cause, judgement, on: evidence, &turn)
    }

    private mutating func decideDuty(on evidence: Evidence?, _ turn: inout Turn) {
        if let judgement = duties.judgement { decide(.exhausted, judgement, on: evidence, &turn) }
    }

    /// Returns whether the app is assumed to be ready.
    mutating func dutyDue(_ turn: inout Turn) -> Bool {
        guard !incidents.isCapturing, duties.handle(.due, &turn) else { return false }
        if duties.isReadinessAssumed(turn) { return true }
        decideDuty(on: nil, &turn)
        return false
    }

    /// Returns what the trigger makes of the evidence, if it requested it.
    mutating func inspected(
        _ id: Int, _ evidence: Evidence, tasksRunDelay: Duration, _ turn: inout Turn
    ) -> TriggerWatch.Outcome {
        let isForTrigger = !$trigger.isEmpty && trigger?.judgement.awaits(id) == true
        let isForProbes = !$probes.isEmpty && probes?.awaits(id) == true
        guard isForTrigger || isForProbes || duties.awaits(id) else { return .nothing }
        stoppedSince = evidence.pause == .stopped ? stoppedSince ?? turn.now : nil
        // Examinations from before the capture are repeated afterwards.
        guard !incidents.isCapturing else { return .nothing }
        let event = WatchEvent.inspected(id: id, evidence)
        if isForTrigger { return trigger?.handle(event, tasksRunDelay: tasksRunDelay, &turn) ?? .nothing }
        if isForProbes {
            follow(withProbes(turn) { $0.handle(event, $1, &turn) }, evidence, &turn)
        } else if duties.handle(event, &turn) {
            decideDuty(on: evidence, &turn)
        }
        return .nothing
    }

    /// Passes on what concerns duties and probes: stops, suspensions, the end of a capture.
    mutating func handle(_ event: WatchEvent, _ turn: inout Turn) {
        _ = duties.handle(event, &turn)
        if event == .stopped { stoppedSince = stoppedSince ?? turn.now }
        guard event != .continued || stoppedSince != nil else { return }
        _ = withProbes(turn) { $0.handle(event, $1, &turn) }
        if event == .continued { stoppedSince = nil }
    }

    // MARK: - Probes

    mutating func probeDue(_ turn: inout Turn) {
        guard !$probes.isEmpty, !incidents.isCapturing, !turn.isSuspended, let due = probes?.due, turn.now >= due
        else { return }
        follow(withProbes(turn) { $0.handle(.due, $1, &turn) }, nil, &turn)
    }

    /// Returns whether this makes the app ready.
    mutating func probeEnded(_ id: Int, _ result: ProbeResult, _ turn: inout Turn) -> Bool {
        guard id == turn.numbers.probes, !$probes.isEmpty else { return false }
        if result == .answered, let latency = probes?.latency(at: turn.now) { duties.recordProbe(latency, &turn) }
        let outcome = withProbes(turn) { $0.ended(result, $1, &turn) }
        if case .ready = outcome { return true }
        follow(outcome, nil, &turn)
        return false
    }

    private mutating func follow(_ outcome: ProbeWatch.Outcome?, _ evidence: Evidence?, _ turn: inout Turn) {
        switch outcome {
        case .hung(let duration): duties.recordHang(duration, &turn)
        case .decided(let missed, let judgement): decide(.probesFailed(missed), judgement, on: evidence, &turn)
        case .ready, .nothing, nil: break
        }
    }

    private mutating func withProbes<Result>(
        _ turn: Turn, _ body: (inout ProbeWatch, ProbeWatch.Circumstances) -> Result
    ) -> Result? {
        guard var watch = probes else { return nil }
        let circumstances = ProbeWatch.Circumstances(
            window: duties.judgement?.windowStart, graceEnd: duties.sparedUntil, isInIncident: isInIncident,
            stopExcuseEnd: stoppedSince.map { $0 + turn.spec.allowances.update })
        defer { probes = watch }
        return body(&watch, circumstances)
    }

    // MARK: - Captures and kills

    /// Handles the end or the timeout of a capture.
    mutating func endCapture(_ turn: inout Turn) -> IncidentBook.Capture? { incidents.endCapture(&turn) }

    mutating func requestKill() { incidents.requestKill() }

    mutating func endKill(isDeathVerified: Bool, _ turn: inout Turn) -> Incident? {
        incidents.endKill(isDeathVerified: isDeathVerified, &turn)
    }

    // MARK: - The supervisor's restart

    mutating func endUnattended(_ turn: inout Turn) {
        duties.setUnattended(false)
        _ = withProbes(turn) { $0.handle(.returned, $1, &turn) }
    }

    mutating func captureAgain(_ turn: inout Turn) { incidents.captureAgain(&turn) }
    /// Examines a living app again, where that was asked for.
    mutating func returned(_ turn: inout Turn) {
        _ = trigger?.handle(.returned, &turn)
        _ = duties.handle(.returned, &turn)
    }
}

// MARK: - Saved state

extension Watches {
    /// Whether the pulse alone describes the progress of a running app.
    var isWell: Bool { !isJudging && duties.isWell }

    /// The state that changes with every sign of life.
    struct Passing {
        fileprivate var duties: Duties.Passing
        fileprivate var probes: Boxed<ProbeWatch>
    }

    /// A neutral value for the state that changes with every sign of life.
    ///
    /// A lost probe is repeated, which costs an app that answers probes nothing.
    func passing(hasPulse: Bool) -> Passing {
        var passing = Passing(duties: duties.passing(hasPulse: hasPulse), probes: $probes)
        if !$probes.isEmpty { passing.probes.wrappedValue = probes?.withoutProgress }
        return passing
    }

    mutating func exchange(_ passing: inout Passing) {
        duties.exchange(&passing.duties)
        swap(&$probes, &passing.probes)
    }

    init(_ saved: SavedWatches) {
        duties = Duties(saved.duties)
        // Probes start over, whenever the latest known one was.
        probes = saved.probes.map { ProbeWatch($0).withoutProgress }
        trigger = saved.trigger.map { TriggerWatch($0) }
        incidents = IncidentBook(saved.incidents)
        stoppedSince = saved.stoppedSince
    }

    var saved: SavedWatches {
        SavedWatches(
            duties: duties.saved, probes: probes?.saved, trigger: trigger?.saved, incidents: incidents.saved,
            stoppedSince: stoppedSince)
    }
}

/// What can happen to a judged process, in the same words for all watches.
enum WatchEvent: Hashable, Sendable {
    /// The instant that the watch asked for has come, or has passed.
    case due
    /// The answer to the examination with this id.
    case inspected(id: Int, Evidence)
    /// The main process was stopped by a signal.
    case stopped
    case continued
    /// The machine was suspended for this long.
    case machineResumed(Duration)
    /// A capture ended, during which examinations were not answered.
    case captureEnded
    /// The supervisor has restarted, and an answer may be lost.
    case returned
}
