// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// What the app itself must do in time: launch, answer pings or push, enter states, terminate.
///
/// At most one allowance is running.
struct Duties: Hashable, Sendable {
    /// The result of a ping's answer.
    enum Answer {
        case nothing
        /// The first answer, which shows that the app answers pings.
        case first
        case inTime
    }

    @Boxed private(set) var allowance: AllowanceWatch?
    private var ping: PingWatch
    private(set) var push = PushWatch()
    private(set) var latencies = Latencies()
    private var progress = Progress()
    /// When the app's extensions of its allowances end.
    private var graceEnd: Instant?
    /// Whether the main loop has been silent for so long that the app is sampled.
    private(set) var isObserving = false
    /// From the supervisor's restart until it is back, when the time of an answer is unknown.
    private var isUnattended = false
    /// Whether the app has sent anything on its channel or its notify socket.
    private(set) var hasSpoken = false

    init(nonceSeed: UInt64) {
        ping = PingWatch(nonceSeed: nonceSeed)
    }

    // MARK: - Questions

    var answersPings: Bool { ping.isAnswered }
    var lastPingSent: Instant? { ping.lastSent }
    var lastProgress: String? { progress.last }
    var judgement: Judgement? { allowance?.judgement }
    /// Until then, failures have no consequence.
    var sparedUntil: Instant? { graceEnd }
    var isDecided: Bool { allowance?.judgement.isDecided == true }

    func awaits(_ id: Int) -> Bool { allowance?.judgement.awaits(id) == true }

    /// When to ask what the main thread is blocked in, so that the answer is there at the deadline; nil while the app may still
    /// answer in good time.
    var foresightDue: Instant? {
        guard isObserving, let judgement, judgement.isCounting else { return nil }
        return Foresight.moment(before: judgement.deadline, of: judgement.deadline - judgement.windowStart)
    }

    func due(_ spec: Shared<AppSpec>) -> Instant? {
        let allowance = allowance
        return .earliest(
            .earliest(allowance?.judgement.due, allowance?.observationDue(spec)),
            .earliest(allowance?.slownessDue(spec), ping.next))
    }

    /// Whether only a ping or a sample from outside is due then, which may wait for another app's deadline.
    func canWait(until due: Instant, _ spec: Shared<AppSpec>) -> Bool {
        due == ping.next || due == allowance?.observationDue(spec) || due == allowance?.slownessDue(spec)
    }

    /// Whether an app whose launch allowance is exhausted is assumed to be ready: one that has sent nothing by then is
    /// assumed to send nothing ever.
    func isReadinessAssumed(_ turn: Turn) -> Bool {
        turn.life == .launching && turn.spec.readiness == .automatic && !hasSpoken
    }

    // MARK: - Stages of life

    mutating func beginLaunch(within allowance: Duration, _ turn: inout Turn) {
        self.allowance = .launch(at: turn.now, allowance: allowance)
    }

    mutating func endLaunch(_ turn: inout Turn) {
        endAllowance(&turn)
        graceEnd = nil
    }

    /// Starts the updates of an app that is ready or runs again; returns whether an answer will show that it does.
    mutating func beginUpdates(_ turn: inout Turn) -> Bool {
        if ping.isAnswered {
            sendPing(&turn)
        } else if push.isExpected {
            expectPush(&turn)
        }
        return ping.isAnswered
    }

    /// Asks an app that was found running whether it answers pings.
    mutating func adopt(_ turn: inout Turn) {
        hasSpoken = true
        ping.send(&turn)
    }

    /// Stops the allowance and the pings until another stage starts.
    mutating func suspend(_ turn: inout Turn) {
        endAllowance(&turn)
        ping.cancelNext()
    }

    mutating func beginTermination(isRequested: Bool, _ turn: Turn) {
        allowance = .termination(isRequested: isRequested, at: turn.now, allowance: turn.spec.allowances.terminate)
    }

    mutating func requestTermination() { allowance?.requestTermination() }

    mutating func end() {
        allowance = nil
        ping.cancelNext()
    }

    mutating func noteSilence(_ turn: Turn) {
        if !isUnattended, let since = allowance?.silentSince(at: turn.now) { latencies.silentSince = since }
    }

    private mutating func endAllowance(_ turn: inout Turn) {
        allowance?.end(&turn)
        allowance = nil
    }

    // MARK: - Messages of the app

    mutating func speak() { hasSpoken = true }

    mutating func hello(_ turn: inout Turn) {
        hasSpoken = true
        guard ping.begin() else { return }
        switch turn.life {
        case .launching: allowance?.handOver(at: turn.now)
        case .running:
            push.end()
            endUpdate(&turn)
            sendPing(&turn)
        case .idle, .terminating, .dying, .ended: break
        }
    }

    mutating func answered(_ nonce: UInt64, _ turn: inout Turn) -> Answer {
        guard ping.answered(nonce) else {
            latencies.strayAnswers += 1
            return .nothing
        }
        latencies.silentSince = nil
        guard ping.isAnswered else { return .first }
        guard turn.life == .running, let judgement, allowance?.purpose == .ping else { return .nothing }
        if judgement.isElapsedKnown, !isUnattended {
            let latency = judgement.elapsed(at: turn.now)
            latencies.pings.record(latency)
            turn.measurement = .ping(latency)
            recordHang(latency, &turn)
        }
        endAllowance(&turn)
        return .inTime
    }

    mutating func pushed(_ turn: inout Turn) {
        hasSpoken = true
        guard !ping.isAnswered, push.pushed() else { return }
        if turn.life == .running { expectPush(&turn) }
    }

    mutating func changePushInterval(to interval: Duration, _ turn: inout Turn) {
        hasSpoken = true
        guard !ping.isAnswered else { return }
        push.change(to: interval)
        guard turn.life == .running else { return }
        if push.isExpected {
            expectPush(&turn)
        } else {
            endUpdate(&turn)
        }
    }

    /// Extends the allowance to at least `duration` from now, but never by more than the cap.
    ///
    /// - Parameter isProbed: between two pings no allowance is running, but the next one will; probes always continue.
    mutating func extend(by duration: Duration, _ token: String?, isProbed: Bool, _ turn: inout Turn) {
        hasSpoken = true
        let fairness = turn.spec.fairness
        guard progress.admits(token, fairness) else { return turn.announce(.extensionRefused(.noProgress)) }
        let isExtensible = turn.life.isLive && (allowance == nil ? ping.isAnswered || isProbed : !isDecided)
        guard isExtensible else { return turn.announce(.extensionRefused(.nothingToExtend)) }
        if turn.life == .running {
            let wanted = turn.now + min(duration, fairness.extensionCap)
            graceEnd = max(graceEnd ?? wanted, wanted)
        }
        guard let event = judgement?.event else { return }
        switch allowance?.extend(by: duration, cap: fairness.extensionCap, at: turn.now) {
        case .gained(let gained): turn.announce(.extended(by: gained, event: event))
        case .capped: turn.announce(.extensionRefused(.capReached))
        case .needless, nil: break
        }
    }

    /// Stops the pings, because the channel is lost.
    mutating func channelLost(_ turn: inout Turn) {
        if turn.life == .running {
            ping.cancelNext()
            if ping.isAnswered, allowance?.isUpdate == true { endAllowance(&turn) }
        }
        ping.end()
    }

    // MARK: - Pings, pushes, obligations

    private mutating func sendPing(_ turn: inout Turn) {
        ping.cancelNext()
        guard !turn.isSuspended else { return }
        begin(.update(.ping, at: turn.now, allowance: turn.spec.allowances.update), &turn)
        ping.send(&turn)
    }

    mutating func pingDue(_ turn: inout Turn) {
        if turn.life == .running, let due = ping.next, turn.now >= due { sendPing(&turn) }
    }

    mutating func scheduleNextPing(_ turn: Turn) {
        if allowance == nil { ping.scheduleNext(turn) }
    }

    private mutating func expectPush(_ turn: inout Turn) {
        endUpdate(&turn)
        guard !turn.isSuspended else { return }
        begin(.update(.push, at: turn.now, allowance: push.allowance(turn.spec)), &turn)
    }

    /// Ends the wait for a push; the app chooses its intervals, so only one with an incident is a hang.
    private mutating func endUpdate(_ turn: inout Turn) {
        guard let allowance, allowance.isUpdate else { return }
        if isDecided { recordHang(allowance.judgement.elapsed(at: turn.now), &turn) }
        endAllowance(&turn)
    }

    /// Starts an obligation of the main loop; an earlier deadline of a ping in flight stays.
    mutating func beginObligation(within duration: Duration, _ turn: inout Turn) {
        if let allowance {
            guard allowance.purpose != .obligation, allowance.judgement.isCounting,
                turn.now + duration < allowance.judgement.deadline
            else { return }
        }
        ping.cancelNext()
        begin(.update(.obligation, at: turn.now, allowance: duration), &turn)
    }

    mutating func endObligation(_ turn: inout Turn) {
        if allowance?.purpose == .obligation { endAllowance(&turn) }
    }

    /// Counts the time of the main loop as a hang if it was long.
    mutating func recordObligation(_ turn: inout Turn) {
        guard let judgement, allowance?.purpose == .obligation, judgement.isElapsedKnown else { return }
        recordHang(judgement.elapsed(at: turn.now), &turn)
    }

    /// Drops an undecided obligation that nobody will answer.
    mutating func dropObligation(_ turn: inout Turn) {
        if !isDecided { endObligation(&turn) }
    }

    private mutating func begin(_ watch: AllowanceWatch, _ turn: inout Turn) {
        allowance = watch
        latencies.silentSince = nil
        applyGrace(turn)
        turn.perform(.beginWindow)
    }

    /// An allowance that starts during an extension lasts at least until the end of the extension.
    private mutating func applyGrace(_ turn: Turn) {
        guard let graceEnd, graceEnd > turn.now else { return }
        _ = allowance?.extend(by: graceEnd - turn.now, cap: turn.spec.fairness.extensionCap, at: turn.now)
    }

    mutating func recordHang(_ duration: Duration, _ turn: inout Turn) {
        guard duration >= turn.spec.hangThreshold else { return }
        latencies.hangs.record(duration)
        turn.announce(.hung(for: duration))
    }

    mutating func recordProbe(_ duration: Duration, _ turn: inout Turn) {
        latencies.probes.record(duration)
        turn.measurement = .probe(duration)
    }

    // MARK: - Judgement

    /// Passes on what happens to the process; returns whether the allowance is exhausted.
    mutating func handle(_ event: WatchEvent, _ turn: inout Turn) -> Bool {
        let needsEvidence = !isReadinessAssumed(turn)
        // What is assumed at the deadline is not examined before.
        guard event != .returned || needsEvidence || judgement?.isCounting != true else { return false }
        switch allowance?.handle(event, needsEvidence: needsEvidence, &turn) {
        case .ping:
            applyGrace(turn)
            ping.send(&turn)
            return false
        case .decided: return true
        case .nothing, nil: return false
        }
    }

    mutating func setUnattended(_ isUnattended: Bool) { self.isUnattended = isUnattended }

    // MARK: - Observation

    mutating func observationDue(_ turn: inout Turn) {
        guard !isObserving, let due = allowance?.observationDue(turn.shared), turn.now >= due else { return }
        allowance?.observe()
        isObserving = true
        turn.perform(.observe)
    }

    /// Reports an app that has used up half of an allowance.
    mutating func slownessDue(_ turn: inout Turn) {
        guard let due = allowance?.slownessDue(turn.shared), turn.now >= due else { return }
        allowance?.noteSlow(&turn)
    }

    /// Stops sampling for an allowance that has ended or started over.
    ///
    /// - Parameter isOver: whether the app is in an incident or gone, so that no hang ended.
    mutating func followObservation(since before: Duties.Observed, isOver: Bool, _ turn: inout Turn) {
        guard isObserving, judgement?.isObserved != true else { return }
        isObserving = false
        let isHang = turn.life == .running && !isOver
        turn.effects.insert(.endObservation(isHang ? before.allowance?.endedHang(at: turn.now) : nil), at: 0)
    }

    /// The allowance before an event.
    struct Observed {
        fileprivate let allowance: AllowanceWatch?
    }

    var observed: Observed { Observed(allowance: allowance) }
}

// MARK: - Saved state

extension Duties {
    /// Whether the pulse alone describes the app's progress.
    var isWell: Bool { allowance?.isWell ?? true }

    var pulse: ProcessMachine.Pulse {
        ProcessMachine.Pulse(
            nonceState: ping.nonceState, unanswered: ping.unanswered, lastPingSent: ping.lastSent, nextPing: ping.next,
            startedAt: judgement?.startedAt, allowance: judgement?.allowance ?? .zero)
    }

    mutating func restore(_ pulse: ProcessMachine.Pulse) {
        ping.restore(pulse)
        allowance = pulse.startedAt.map {
            .update(ping.isAnswered ? .ping : .push, at: $0, allowance: pulse.allowance)
        }
    }

    /// The state that changes with every sign of life.
    struct Passing {
        fileprivate var latencies = Latencies()
        fileprivate var ping: PingWatch
        fileprivate var allowance = Boxed<AllowanceWatch>(wrappedValue: nil)
        fileprivate let hasPulse: Bool
    }

    /// A neutral value for the state that changes with every sign of life.
    func passing(hasPulse: Bool) -> Passing { Passing(ping: ping.withoutPulse, hasPulse: hasPulse) }

    mutating func exchange(_ passing: inout Passing) {
        swap(&latencies, &passing.latencies)
        guard passing.hasPulse else { return }
        swap(&ping, &passing.ping)
        swap(&$allowance, &passing.allowance)
    }

    init(_ saved: SavedDuties) {
        allowance = saved.allowance.map { AllowanceWatch($0) }
        ping = PingWatch(saved.pings)
        push = PushWatch(saved.pushes)
        latencies = Latencies(
            pings: saved.latencies.pings, probes: saved.latencies.probes, hangs: saved.latencies.hangs,
            strayAnswers: saved.latencies.strayAnswers)
        progress = Progress(saved.progress)
        graceEnd = saved.graceEnd
        isObserving = saved.isObserving
        hasSpoken = saved.hasSpoken
    }

    var saved: SavedDuties {
        SavedDuties(
            allowance: allowance?.saved, pings: ping.saved, pushes: push.saved,
            latencies: SavedLatencies(
                pings: latencies.pings, probes: latencies.probes, hangs: latencies.hangs,
                strayAnswers: latencies.strayAnswers),
            progress: progress.last, graceEnd: graceEnd, isObserving: isObserving, hasSpoken: hasSpoken)
    }
}

/// The durations of the app's answers.
struct Latencies: Hashable, Sendable {
    var pings = LatencyHistogram()
    var probes = LatencyHistogram()
    /// Answers later than the hang threshold.
    var hangs = LatencyHistogram()
    /// Answers to no ping: a sign that the app answers without reading.
    var strayAnswers = 0
    /// Since when the main loop had been silent when the app was asked to end, or ended, apart from known pauses.
    ///
    /// Nil if it has answered. Not saved: only `run`, which sees an app from its launch to its end, asks for it.
    var silentSince: Instant?
}
