// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

/// A second account of one app's life, kept from the events and checked against what the machine says and does.
///
/// It shares no code with the machine. It knows what the app was granted, so it knows when the machine may act and when
/// it must.
struct Ledger {
    let spec: AppSpec
    var stage = Stage.idle

    // The running allowance.
    var clock = Clock.none
    var event = WatchdogEvent.processLaunch
    var whole = Duration.zero
    var until = Instant(nanoseconds: 0)
    var extended = Duration.zero
    var hasCredit = false
    var grace: Instant?

    // What the app has reported.
    var hasSpoken = false
    var answersPings = false
    var pushes = false
    var pushAllowance: Duration?
    var lastProgress: String?
    var outstanding: [UInt64] = []
    var strays = 0

    // What was requested, and when the next effect is due.
    var isSpawning = false
    var spawns = 0
    var requests = 0
    var terminations = 0
    var kills = 0
    var launchedAt = Instant(nanoseconds: 0)
    var lastPing: Instant?
    var nextPing: Instant?
    var nextProbe: Instant?
    var probes: ProbeLedger
    var trigger: (due: Instant, isHeld: Bool)?
    /// The last pending examination of each source; answered and void ones are removed.
    var asked: [Asker: Int] = [:]
    var lastExamination = 0
    /// The source whose examination this step answers.
    var answering: Asker?
    var capture: (incident: Incident, end: Instant)?
    /// Whether a report-only capture ended in this step.
    var isCaptureOver = false
    var isKillRequested = false
    var condemned: Incident?
    /// Whether those that the main process left behind were asked to end; their allowance is the one that runs.
    var isAsking = false
    var deathEnd: Instant?
    var isExited = false
    var isEmpty = false
    var decided = 0
    var reported = 0

    init(_ spec: AppSpec) {
        self.spec = spec
        probes = ProbeLedger(spec)
    }

    /// Decided incidents without a report.
    var pendingReports: Int { decided - reported }

    /// Whether an examination is pending.
    var isLooking: Bool { Asker.allCases.contains { isLooking($0) } }

    private func isLooking(_ asker: Asker) -> Bool {
        switch asker {
        case .trigger: trigger != nil
        case .clock: isClockLooking
        case .probes: probes.isLooking
        }
    }

    private var isClockLooking: Bool {
        switch clock {
        case .looking, .standing: true
        case .none, .counting, .over: false
        }
    }

    private var isStanding: Bool { if case .standing = clock { true } else { false } }

    /// The pending examinations.
    var examinations: [Int] { Asker.allCases.compactMap { isLooking($0) ? asked[$0] : nil } }

    private func asker(of id: Int) -> Asker? { Asker.allCases.first { isLooking($0) && asked[$0] == id } }

    var isHeard: Bool {
        !isExited && capture?.incident.isEnforced != true && stage != .dying && stage != .over
    }

    /// Books one step.
    ///
    /// - Returns: a violation, or nil.
    mutating func book(_ happened: ProcessEvent, _ effects: [ProcessEffect], at now: Instant) -> String? {
        if case .supervisorReturned(let isDone) = happened {
            return bookReturn(effects, isLastStepDone: isDone, at: now)
        }
        if case .adopted = happened { return bookAdoption(effects, at: now) }
        if case .channelLost = happened, isHeard { return bookLoss(effects, at: now) }
        let wasHeard = isHeard
        let wasCapturing = capture != nil
        answering = nil
        if case .inspected(let id, _) = happened {
            answering = asker(of: id)
            if answering == nil, !effects.isEmpty { return "an answer that nobody waits for led to \(effects)" }
        }
        let answered = answering.flatMap { asked[$0] }
        isCaptureOver = false
        let gain = wasHeard ? bookExtension(happened, at: now) : nil
        if wasHeard { probes.foresee(happened, answering, at: now) }
        if wasHeard, case .terminateRequested = happened { requests += 1 }
        if case .treeEmptied = happened, !wasHeard { isEmpty = true }
        for (index, effect) in effects.enumerated() {
            if stage == .over { return "\(effect) after the end" }
            let complaint: String? =
                switch effect {
                case .announce(let notice):
                    book(notice, happened, gain, at: now)
                case .sendPing(let nonce): bookPing(nonce, at: now)
                case .inspect(let id): bookLook(id, happened, at: now)
                case .capture(let incident): bookCapture(incident, at: now)
                case .report(let incident): bookReport(incident)
                case .terminateTree: bookTreeTermination(at: now)
                case .killTree: bookKill(happened, at: now)
                case .spawn: bookSpawn()
                case .probe: bookProbe(at: now)
                case .probeLiveness(let id): bookLivenessProbe(id, happened, at: now)
                case .cancelLivenessProbe:
                    probes.bookCancel(happened, isLaunching: stage == .launching, at: now)
                case .terminate: bookTermination()
                case .finish(let outcome): bookEnd(outcome, isLast: index == effects.count - 1)
                case .beginWindow, .observe, .endObservation, .lifecycle: nil
                }
            if let complaint { return complaint }
        }
        if case .gain? = gain, !effects.contains(where: { if case .announce(.extended) = $0 { true } else { false } }) {
            return "an extension was not granted"
        }
        // An examination that is answered during the capture is repeated afterwards.
        if let answering, !wasCapturing, asked[answering] == answered { asked[answering] = nil }
        if wasHeard { bookWords(happened, at: now) }
        if wasHeard {
            // An app that has sent a message must report READY=1, and is no longer probed.
            if stage == .launching, spec.readiness == .automatic, hasSpoken { probes.bookEnd() }
            let isLaunching = stage == .launching
            probes.bookWords(happened, isLaunching: isLaunching, isCaptureOver: isCaptureOver, at: now)
            if stage == .running, let complaint = probes.omission() { return complaint }
        }
        return wasCapturing ? nil : omission(in: happened, at: now)
    }

    /// Compares the machine's public properties with the ledger.
    func complaint(about machine: ProcessMachine) -> String? {
        let due = dues.min()
        if machine.nextDeadline != due {
            return "next deadline \(String(describing: machine.nextDeadline)), not \(String(describing: due))"
        }
        if machine.strayAnswers != strays { return "\(machine.strayAnswers) stray answers, not \(strays)" }
        if machine.isInIncident != (capture != nil || condemned != nil || clock == .over || probes.isOver) {
            return "isInIncident is \(machine.isInIncident)"
        }
        let isRight =
            switch machine.phase {
            case .idle: stage == .idle
            case .launching: stage == .launching && capture == nil
            case .running: stage == .running && capture == nil
            case .terminating(let isRequested): stage == .ending(isRequested: isRequested) && capture == nil
            case .capturing: capture != nil
            case .dying: stage == .dying
            case .ended: stage == .over
            }
        return isRight ? nil : "phase \(machine.phase) at \(stage)"
    }

    var dues: [Instant] {
        if let capture { return [capture.end] }
        switch stage {
        case .idle, .over: return []
        case .dying where !isAsking: return [deathEnd].compactMap(\.self)
        case .dying, .launching, .running, .ending: break
        }
        var dues = [nextPing, nextProbe, trigger?.due, probes.due].compactMap(\.self)
        switch clock {
        case .none, .over: break
        case .counting: dues.append(until)
        case .looking(let end): dues.append(end)
        case .standing(_, _, let look): dues.append(look)
        }
        return dues
    }

    // MARK: - The allowance

    mutating func begin(_ event: WatchdogEvent, _ allowance: Duration, at now: Instant) {
        self.event = event
        whole = allowance
        until = now + allowance
        extended = .zero
        hasCredit = false
        clock = .counting
        if event == .sceneUpdate { honourGrace(at: now) }
    }

    private mutating func honourGrace(at now: Instant) {
        guard let grace, grace > until else { return }
        let gain = min(grace - until, spec.fairness.extensionCap - extended)
        guard gain > .zero else { return }
        until = until + gain
        extended += gain
    }

    private mutating func bookExtension(_ happened: ProcessEvent, at now: Instant) -> Gain? {
        guard case .extensionRequested(let duration, let progress) = happened else { return nil }
        let isNew = progress != nil && progress != lastProgress
        guard isNew || spec.fairness.allowsBlindExtension else { return .refused(.noProgress) }
        if isNew { lastProgress = progress }
        let cap = spec.fairness.extensionCap
        switch (stage, clock) {
        case (.idle, _), (_, .over): return .refused(.nothingToExtend)
        case (.running, .none) where !answersPings && spec.livenessProbe == nil: return .refused(.nothingToExtend)
        default: break
        }
        let asked = min(duration, cap)
        if stage == .running { grace = max(grace ?? now + asked, now + asked) }
        let left: Duration
        switch clock {
        case .none, .over: return .needless
        case .counting, .looking: left = until - now
        case .standing(let rest, _, _): left = rest
        }
        guard asked > left else { return .needless }
        let gain = min(asked - left, cap - extended)
        guard gain > .zero, left + gain > .zero else { return .refused(.capReached) }
        extended += gain
        if case .standing(_, let isFound, let look) = clock {
            clock = .standing(left: left + gain, isFound: isFound, nextLook: look)
        } else {
            until = until + gain
            clock = .counting
        }
        return .gain(gain)
    }

    private mutating func stand(left: Duration, isFound: Bool, at now: Instant) {
        asked[.clock] = nil
        clock = .standing(left: left, isFound: isFound, nextLook: now + spec.fairness.pauseInterval)
    }

    // MARK: - Notices

    private mutating func book(
        _ notice: Notice, _ happened: ProcessEvent, _ gain: Gain?, at now: Instant
    ) -> String? {
        switch notice {
        case .launched: return bookLaunch(at: now)
        case .adopted, .channelLost: return "\(notice) by \(happened)"
        case .ready(let source, let duration): return bookReady(source, happened, after: duration, at: now)
        case .slow(let slowness): return slowness.remaining > .zero ? nil : "slow after its deadline"
        case .hung(let duration): return duration >= spec.hangThreshold ? nil : "no hang"
        case .starvationCredit(let credit, let event): return bookCredit(credit, event, happened, at: now)
        case .overslept(let lateness, let event): return bookOversleep(lateness, event, at: now)
        case .machineResumed: return bookSuspension(at: now)
        case .paused: return bookPause(happened, at: now)
        case .resumed: return bookResumption(happened, at: now)
        case .extended(let duration, _):
            if case .gain(duration)? = gain { return nil }
            return "extended by \(duration) instead of \(String(describing: gain))"
        case .extensionRefused(let reason):
            if case .refused(reason)? = gain { return nil }
            return "refused for \(reason) instead of \(String(describing: gain))"
        case .messageRefused: return "the machine gets no messages"
        case .terminating(let isRequested): return bookEnding(isRequested: isRequested, at: now)
        case .transgressed(let incident): return bookIncident(incident, happened, at: now)
        case .captureTimedOut:
            return capture.map { now >= $0.end } ?? false ? nil : "no capture timed out"
        case .exited:
            defer { isExited = true }
            return isExited ? "exited twice" : nil
        case .unkillable:
            return deathEnd.map { now >= $0 } ?? false ? nil : "called unkillable early"
        case .probe(let notice):
            let isOpen = capture != nil || clock == .over
            if case .paused = notice, happened == .stopped { asked[.probes] = nil }
            return probes.book(notice, happened, spared: grace, isOpen: isOpen, at: now)
        case .lifecycle: return "a lifecycle that nobody has begun"
        case .marked: return "a mark, which is the supervisor's"
        }
    }

    private mutating func bookLaunch(at now: Instant) -> String? {
        guard stage == .idle else { return "launched at \(stage)" }
        stage = .launching
        isSpawning = false
        launchedAt = now
        begin(.processLaunch, spec.allowances.launch, at: now)
        if spec.readiness.isProbed { nextProbe = now }
        probes.bookLaunch(at: now)
        return nil
    }

    private mutating func bookReady(
        _ source: ReadinessSource, _ happened: ProcessEvent, after duration: Duration, at now: Instant
    ) -> String? {
        guard stage == .launching, duration == now - launchedAt else { return "ready at \(stage)" }
        if source == .assumed {
            guard spec.readiness == .automatic, !hasSpoken, now >= until else { return "taken as launched" }
        }
        stage = .running
        clock = .none
        nextProbe = nil
        grace = nil
        let isAnswered = if case .livenessProbed = happened { true } else { false }
        if isAnswered, spec.readiness == .automatic, hasSpoken { return "ready by a probe although it speaks" }
        probes.bookReady(isAnswered: isAnswered, at: now)
        if pushes, !answersPings { begin(.sceneUpdate, pushAllowance ?? spec.allowances.update, at: now) }
        return nil
    }

    private mutating func bookCredit(
        _ credit: Duration, _ event: WatchdogEvent, _ happened: ProcessEvent, at now: Instant
    ) -> String? {
        guard case .looking = clock, case .inspected(_, let evidence) = happened, answering == .clock,
            event == self.event
        else {
            return "credit without a look"
        }
        let cap = whole * spec.fairness.creditCapPercent / 100
        let floor = whole * spec.fairness.creditFloorPercent / 100
        guard !hasCredit, credit == min(evidence.runDelay, cap), evidence.runDelay >= floor else {
            return "credit of \(credit)"
        }
        until = until + credit
        hasCredit = true
        clock = .counting
        return until > now ? nil : "credit that ends in the past"
    }

    private mutating func bookOversleep(_ lateness: Duration, _ event: WatchdogEvent, at now: Instant) -> String? {
        guard clock == .counting, lateness == now - until, lateness > spec.fairness.oversleep, event == self.event
        else { return "overslept by \(lateness)" }
        until = now + (event == .sceneUpdate ? whole : min(lateness, whole))
        return nil
    }

    private mutating func bookSuspension(at now: Instant) -> String? {
        switch clock {
        case .counting, .looking:
            until = max(until, now + whole)
            clock = .counting
            return nil
        case .none, .standing, .over:
            return "a suspension without an allowance"
        }
    }

    private mutating func bookPause(_ happened: ProcessEvent, at now: Instant) -> String? {
        if answering == .trigger {
            if trigger?.isHeld == false { trigger = (now + spec.fairness.pauseInterval, true) }
            return nil
        }
        if stage == .ending(isRequested: true), case .stopped = happened { return "stopped in spite of SIGCONT" }
        switch (clock, happened) {
        case (.counting, .stopped):
            stand(left: until > now ? until - now : whole, isFound: until <= now, at: now)
        case (.looking, .stopped):
            stand(left: whole, isFound: true, at: now)
        case (.looking, .inspected(_, let evidence)) where evidence.pause != nil && answering == .clock:
            stand(left: whole, isFound: true, at: now)
        case (.standing, .inspected(_, let evidence)) where evidence.pause != nil && answering == .clock:
            break
        default:
            return "paused by \(happened) at \(clock)"
        }
        return nil
    }

    private mutating func bookResumption(_ happened: ProcessEvent, at now: Instant) -> String? {
        let isOfTrigger =
            switch happened {
            case .inspected: trigger?.isHeld == true && (answering != .clock || !isStanding)
            case .deadlineReached: trigger?.isHeld == true
            default: false
            }
        if isOfTrigger {
            trigger?.isHeld = false
            return nil
        }
        if case .standing(let left, _, _) = clock {
            until = now + left
            clock = .counting
            return nil
        }
        guard trigger?.isHeld == true else { return "resumed from nothing" }
        trigger?.isHeld = false
        return nil
    }

    private mutating func bookEnding(isRequested: Bool, at now: Instant) -> String? {
        switch stage {
        case .launching, .running:
            stage = .ending(isRequested: isRequested)
            begin(.processExit, spec.allowances.terminate, at: now)
            probes.bookEnd()
            nextPing = nil
            nextProbe = nil
            trigger = nil
            return nil
        case .ending(isRequested: false) where isRequested:
            stage = .ending(isRequested: true)
            return nil
        case .idle, .ending, .dying, .over:
            return "asked to end at \(stage)"
        }
    }

    // MARK: - Incidents

    private mutating func bookIncident(_ incident: Incident, _ happened: ProcessEvent, at now: Instant) -> String? {
        decided += 1
        guard capture == nil, condemned == nil, incident.id == decided, incident.decidedAt == now else {
            return "incident \(incident.id) within another"
        }
        guard incident.isEnforced == (spec.enforcement == .kill), incident.isDeathVerified == nil else {
            return "incident \(incident)"
        }
        let isLate: Bool
        switch happened {
        case .inspected: isLate = false
        case .deadlineReached: isLate = true
        default: return "incident by \(happened)"
        }
        if case .probesFailed(let missed) = incident.cause {
            trigger = nil
            return probes.bookIncident(incident, missed, happened, at: now)
        }
        if incident.cause == .triggered {
            guard let asked = trigger, !asked.isHeld, isLate ? now >= asked.due : answering == .trigger else {
                return "nobody triggered"
            }
            if case .inspected(_, let evidence) = happened, let pause = evidence.pause {
                return "killed while \(pause)"
            }
            trigger = nil
            return nil
        }
        trigger = nil
        guard case .looking(let end) = clock, isLate ? now >= end : answering == .clock else {
            return "decided without a look"
        }
        guard now >= until, incident.deadline == until, incident.event == event, incident.extended == extended,
            (incident.credit > .zero) == hasCredit
        else {
            return "decided at \(now) for \(incident), granted until \(until)"
        }
        if case .inspected(_, let evidence) = happened, let pause = evidence.pause {
            guard stage == .ending(isRequested: true), pause == .stopped else { return "killed while \(pause)" }
        }
        clock = .over
        return nil
    }

    private mutating func bookLook(_ id: Int, _ happened: ProcessEvent, at now: Instant) -> String? {
        guard id == lastExamination + 1 else { return "examination \(id) after \(lastExamination)" }
        lastExamination = id
        if isCaptureOver, case .looking(let end) = clock, end != now + .milliseconds(250) {
            clock = .looking(until: now + .milliseconds(250))
            asked[.clock] = id
            return nil
        }
        if case .deadlineReached = happened, let trigger, trigger.isHeld, now >= trigger.due {
            self.trigger?.due = now + spec.fairness.pauseInterval
            asked[.trigger] = id
            return nil
        }
        if case .deadlineReached = happened, !isCaptureOver, isClockDue(at: now) {
            bookClockLook(id, at: now)
            return nil
        }
        if probes.claimsLook(happened, isCaptureOver: isCaptureOver, at: now) {
            asked[.probes] = id
            return nil
        }
        switch happened {
        case .watchdogTriggered:
            guard trigger == nil else { return "triggered twice" }
            trigger = (now + .milliseconds(250), false)
            asked[.trigger] = id
            return nil
        case .captured:
            guard case .looking = clock else { return "looked after the capture" }
            clock = .looking(until: now + .milliseconds(250))
        case .deadlineReached:
            switch clock {
            case .looking where capture == nil:
                // The capture timed out, so the examination is repeated.
                clock = .looking(until: now + .milliseconds(250))
            case .none, .counting, .looking, .standing, .over:
                return "looked at \(clock), granted until \(until)"
            }
        default:
            return "looked because of \(happened)"
        }
        asked[.clock] = id
        return nil
    }

    /// The clock requests its examination before the probes do.
    private func isClockDue(at now: Instant) -> Bool {
        switch clock {
        case .counting: now >= until && now - until <= spec.fairness.oversleep
        case .standing(_, _, let look): now >= look
        case .none, .looking, .over: false
        }
    }

    private mutating func bookClockLook(_ id: Int, at now: Instant) {
        asked[.clock] = id
        if case .standing(let left, let isFound, _) = clock {
            clock = .standing(left: left, isFound: isFound, nextLook: now + spec.fairness.pauseInterval)
        } else {
            clock = .looking(until: now + .milliseconds(250))
        }
    }

    private mutating func bookCapture(_ incident: Incident, at now: Instant) -> String? {
        guard capture == nil, incident.id == decided else { return "captured without an incident" }
        capture = (incident, now + spec.captureBudget)
        return nil
    }

    private mutating func bookReport(_ incident: Incident) -> String? {
        reported += 1
        guard reported == incident.id, reported == decided else { return "report \(incident.id) of \(decided)" }
        if let open = condemned {
            guard open.id == incident.id, incident.isDeathVerified != nil else { return "wrong report" }
            condemned = nil
        } else {
            guard capture?.incident == incident, !incident.isEnforced else { return "report without an incident" }
            capture = nil
            isCaptureOver = true
        }
        return nil
    }

    // MARK: - Requests

    private mutating func bookPing(_ nonce: UInt64, at now: Instant) -> String? {
        guard stage == .running else { return "ping at \(stage)" }
        if outstanding.contains(nonce) { return "the same nonce again" }
        if outstanding.count == 8 { outstanding.removeFirst() }
        outstanding.append(nonce)
        lastPing = now
        if answersPings, clock == .counting, event == .sceneUpdate {
            honourGrace(at: now)
        } else {
            begin(.sceneUpdate, spec.allowances.update, at: now)
        }
        nextPing = nil
        return nil
    }

    private mutating func bookSpawn() -> String? {
        spawns += 1
        isSpawning = true
        return spawns == 1 && stage == .idle ? nil : "\(spawns) processes"
    }

    private mutating func bookProbe(at now: Instant) -> String? {
        guard stage == .launching, let due = nextProbe, now >= due else { return "probe at \(stage)" }
        nextProbe = nil
        return nil
    }

    private mutating func bookLivenessProbe(_ id: Int, _ happened: ProcessEvent, at now: Instant) -> String? {
        let isWanted = stage == .running || (stage == .launching && isProbedInLaunch)
        guard isWanted else { return "probe at \(stage)" }
        return probes.bookStart(id, happened, at: now)
    }

    private var isProbedInLaunch: Bool {
        spec.readiness == .probe || (spec.readiness == .automatic && !hasSpoken && spec.livenessProbe != nil)
    }

    private mutating func bookTermination() -> String? {
        terminations += 1
        return terminations == 1 && stage == .ending(isRequested: true) ? nil : "asked to end \(terminations) times"
    }
}
