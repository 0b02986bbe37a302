// SPDX-License-Identifier: Apache-2.0

extension AppMachine {
    /// The probes of one app, beside the allowance of its pings if it has one.
    struct LivenessWatch: Hashable, Sendable, Codable {
        enum Step: Hashable, Sendable, Codable {
            /// Until the next probe.
            case waiting(until: Instant)
            /// A probe is under way.
            case probing(deadline: Instant)
            /// The threshold is reached; a look at the process is under way, and counts as fruitless at `backstop`.
            case examining(backstop: Instant)
            /// The process does not run by someone else's will.
            case paused(Pause, since: Instant, nextLook: Instant)
        }

        var step: Step
        /// When the latest probe began.
        var startedAt: Instant
        var windowStart: Instant
        var missed: MissedProbes?
        /// When the first of the failures began.
        var failingSince: Instant?
        var credit: Duration?
        /// Failures lead to nothing before.
        var sparedUntil: Instant?
        var paused = Duration.zero
        var rebases = 0
        /// The incident is decided: nothing more comes of failures until the app answers.
        var isDecided = false
        var isImpossible = false

        init(nextProbe: Instant) {
            step = .waiting(until: nextProbe)
            startedAt = nextProbe
            windowStart = nextProbe
        }

        var due: Instant {
            switch step {
            case .waiting(let until): until
            case .probing(let deadline): deadline
            case .examining(let backstop): backstop
            case .paused(_, _, let nextLook): nextLook
            }
        }

        var isProbing: Bool {
            if case .probing = step { true } else { false }
        }

        var isExamining: Bool {
            if case .examining = step { true } else { false }
        }

        /// Before everything that can happen.
        static let anyTime = Instant(nanoseconds: 0)

        /// The same at no particular instant, as long as no failure is open.
        var withoutProgress: LivenessWatch {
            guard missed == nil, failingSince == nil, credit == nil, sparedUntil == nil, !isDecided else { return self }
            var copy = self
            switch step {
            case .waiting, .probing:
                copy.startedAt = Self.anyTime
                copy.windowStart = Self.anyTime
                copy.step = .waiting(until: Self.anyTime)
            case .examining, .paused: break
            }
            return copy
        }

        /// After an answer, or after a time in which none could be given.
        mutating func forgetFailures() {
            missed = nil
            failingSince = nil
            credit = nil
            sparedUntil = nil
            isDecided = false
        }
    }

    // MARK: - Probes

    /// A suspended app is not probed.
    var livenessDeadline: Instant? { $liveness.isEmpty || lifecycle.freeze != nil ? nil : liveness?.due }

    mutating func beginLiveness(at now: Instant) {
        guard spec.livenessProbe != nil else { return }
        guard liveness == nil || spec.readiness != .probe else { return scheduleProbe(at: now) }
        liveness = LivenessWatch(nextProbe: now)
    }

    mutating func dropLiveness(_ effects: inout [AppEffect]) {
        if liveness?.isProbing == true { effects.append(.cancelLivenessProbe) }
        liveness = nil
    }

    private mutating func startProbe(at now: Instant, _ effects: inout [AppEffect]) {
        guard let probe = spec.livenessProbe, let watch = liveness else { return }
        if watch.isProbing { effects.append(.cancelLivenessProbe) }
        // What a ping has to show counts from the ping on.
        if watch.missed == nil, countdown == nil, life == .running {
            effects.append(.beginWindow)
            liveness?.windowStart = now
        } else if watch.windowStart == LivenessWatch.anyTime {
            let windowStart = countdown?.windowStart ?? now
            liveness?.windowStart = windowStart
        }
        probeCount += 1
        liveness?.startedAt = now
        liveness?.step = .probing(deadline: now + probe.timeout)
        effects.append(.probeLiveness(id: probeCount))
    }

    private mutating func scheduleProbe(at now: Instant) {
        guard let probe = spec.livenessProbe, let watch = liveness else { return }
        let interval = life == .launching ? spec.probeInterval : probe.interval
        liveness?.step = .waiting(until: max(now, watch.startedAt + interval))
    }

    mutating func livenessDue(at now: Instant, _ effects: inout [AppEffect]) {
        guard $capture.isEmpty, let due = livenessDeadline, now >= due, let watch = liveness else { return }
        switch watch.step {
        case .waiting:
            startProbe(at: now, &effects)
        case .probing(let deadline):
            let lateness = now - deadline
            if lateness > spec.fairness.oversleep {
                effects.append(.announce(.probe(.overslept(by: lateness))))
                repeatProbe(at: now, &effects)
            } else {
                effects.append(.cancelLivenessProbe)
                probeFailed(.noAnswer, at: now, &effects)
            }
        case .examining:
            decideProbes(on: nil, at: now, &effects)
        case .paused(let pause, let since, _):
            let next = nextLook(during: pause, at: now)
            liveness?.step = .paused(pause, since: since, nextLook: next)
            effects.append(.inspect)
        }
    }

    /// Whether the latest probe could not be made.
    public var isProbeImpossible: Bool { liveness?.isImpossible ?? false }

    mutating func livenessProbed(
        _ id: Int, _ result: ProbeResult, at now: Instant, _ effects: inout [AppEffect]
    ) {
        guard id == probeCount, let watch = liveness, watch.isProbing else { return }
        switch result {
        case .answered:
            probes.record(now - watch.startedAt)
            probeAnswered(watch, at: now, &effects)
        case .failed(let reason):
            probeFailed(.failed(reason), at: now, &effects)
        case .impossible(let reason):
            if !watch.isImpossible { effects.append(.announce(.probe(.impossible(reason)))) }
            liveness?.isImpossible = true
            scheduleProbe(at: now)
        }
    }

    private mutating func probeAnswered(_ watch: LivenessWatch, at now: Instant, _ effects: inout [AppEffect]) {
        guard life == .running else { return becomeReady(.probe, at: now, &effects) }
        if watch.isDecided, let since = watch.failingSince {
            recordHang(now - since - watch.paused, &effects)
        } else if let missed = watch.missed {
            effects.append(.announce(.probe(.recovered(failures: missed.count))))
        }
        liveness?.forgetFailures()
        liveness?.isImpossible = false
        liveness?.paused = .zero
        liveness?.rebases = 0
        scheduleProbe(at: now)
    }

    private mutating func probeFailed(
        _ failure: MissedProbes.Failure, at now: Instant, _ effects: inout [AppEffect]
    ) {
        scheduleProbe(at: now)
        guard let probe = spec.livenessProbe, let watch = liveness, life == .running else { return }
        let missed = MissedProbes(
            target: probe.target, count: (watch.missed?.count ?? 0) + 1, last: failure,
            lastDuration: now - watch.startedAt)
        liveness?.missed = missed
        liveness?.isImpossible = false
        liveness?.failingSince = watch.failingSince ?? watch.startedAt
        guard !watch.isDecided else { return }
        effects.append(.announce(.probe(.failed(missed))))
        // One hang, one incident: while another is open, failures only count.
        guard missed.count >= probe.threshold, !isInIncident else { return }
        let spared = max(watch.sparedUntil ?? now, graceEnd ?? now)
        guard now >= spared else { return }
        liveness?.step = .examining(backstop: now + Countdown.examinationBudget)
        effects.append(.inspect)
    }

    // MARK: - Fairness

    mutating func livenessInspected(_ evidence: Evidence, at now: Instant, _ effects: inout [AppEffect]) {
        noteStop(evidence, at: now)
        guard capture == nil, let watch = liveness else { return }
        let excuse = evidence.pause.flatMap { isExcuse($0, at: now) ? $0 : nil }
        switch (watch.step, excuse) {
        case (.examining, let pause?):
            pauseProbes(pause, at: now, &effects)
        case (.examining, nil):
            if evidence.pause != nil || !grantProbeCredit(for: evidence.runDelay, at: now, &effects) {
                decideProbes(on: evidence, at: now, &effects)
            }
        case (.paused(let current, let since, let nextLook), let pause?):
            guard pause != current else { return }
            liveness?.step = .paused(pause, since: since, nextLook: nextLook)
            effects.append(.announce(.probe(.paused(pause))))
        case (.paused, nil):
            if evidence.pause != nil {
                decideProbes(on: evidence, at: now, &effects)
            } else {
                resumeProbes(at: now, &effects)
            }
        case (.waiting, _), (.probing, _):
            break
        }
    }

    private mutating func noteStop(_ evidence: Evidence, at now: Instant) {
        stoppedSince = evidence.pause == .stopped ? stoppedSince ?? now : nil
    }

    /// A debugger or a freezer has somebody behind it, who will let go; a stop has nobody, and excuses no longer than an
    /// answer may take.
    private func isExcuse(_ pause: Pause, at now: Instant) -> Bool {
        guard pause == .stopped, let stoppedSince else { return true }
        return now < stoppedSince + spec.allowances.update
    }

    private func nextLook(during pause: Pause, at now: Instant) -> Instant {
        let next = now + spec.fairness.pauseInterval
        guard pause == .stopped, let stoppedSince else { return next }
        let end = stoppedSince + spec.allowances.update
        return end > now ? min(next, end) : next
    }

    private mutating func pauseProbes(_ pause: Pause, at now: Instant, _ effects: inout [AppEffect]) {
        let next = nextLook(during: pause, at: now)
        liveness?.step = .paused(pause, since: now, nextLook: next)
        effects.append(.announce(.probe(.paused(pause))))
    }

    mutating func livenessStopped(at now: Instant, _ effects: inout [AppEffect]) {
        stoppedSince = stoppedSince ?? now
        guard liveness?.isExamining == true, isExcuse(.stopped, at: now) else { return }
        pauseProbes(.stopped, at: now, &effects)
    }

    private mutating func resumeProbes(at now: Instant, _ effects: inout [AppEffect]) {
        guard case .paused(_, let since, _)? = liveness?.step else { return }
        effects.append(.announce(.probe(.resumed(after: now - since))))
        liveness?.paused += now - since
        liveness?.forgetFailures()
        startProbe(at: now, &effects)
    }

    /// What failed while the process was stopped says nothing of the process that runs.
    mutating func livenessContinued(at now: Instant, _ effects: inout [AppEffect]) {
        defer { stoppedSince = nil }
        guard stoppedSince != nil, life == .running, let watch = liveness, !watch.isDecided else { return }
        switch watch.step {
        case .paused(.stopped, _, _):
            resumeProbes(at: now, &effects)
        case .probing, .examining:
            liveness?.forgetFailures()
            startProbe(at: now, &effects)
        case .waiting:
            liveness?.forgetFailures()
        case .paused:
            break
        }
    }

    mutating func livenessResumed(at now: Instant, _ effects: inout [AppEffect]) {
        guard let watch = liveness else { return }
        switch watch.step {
        case .probing, .examining: repeatProbe(at: now, &effects)
        case .waiting, .paused: break
        }
    }

    /// The probe whose time the supervisor or the machine slept away does not count: a fresh one has to fail.
    private mutating func repeatProbe(at now: Instant, _ effects: inout [AppEffect]) {
        liveness?.rebases += 1
        startProbe(at: now, &effects)
    }

    /// Once per incident; true when failures are to be ignored for a while.
    private mutating func grantProbeCredit(
        for runDelay: Duration, at now: Instant, _ effects: inout [AppEffect]
    ) -> Bool {
        guard let probe = spec.livenessProbe, let watch = liveness, watch.credit == nil else { return false }
        let floor = probe.allowance * spec.fairness.creditFloorPercent / 100
        let credit = min(runDelay, probe.allowance * spec.fairness.creditCapPercent / 100)
        guard credit > .zero, runDelay >= floor else { return false }
        liveness?.credit = credit
        liveness?.sparedUntil = now + credit
        scheduleProbe(at: now)
        effects.append(.announce(.probe(.credited(credit))))
        return true
    }

    // MARK: - Where nobody can answer or ask

    /// Probed anew when it is resumed, and nothing from before is held against it.
    mutating func suspendLiveness(at now: Instant, _ effects: inout [AppEffect]) {
        guard let watch = liveness else { return }
        if watch.isProbing { effects.append(.cancelLivenessProbe) }
        if !watch.isDecided { liveness?.forgetFailures() }
        liveness?.step = .waiting(until: now)
    }

    /// What the supervisor before this one had begun is lost: the probe or the look is repeated.
    mutating func livenessReturned(at now: Instant) {
        switch liveness?.step {
        case .probing, .examining: liveness?.step = .waiting(until: now)
        case .paused(let pause, let since, _): liveness?.step = .paused(pause, since: since, nextLook: now)
        case .waiting, nil: break
        }
    }

    // MARK: - The end

    private mutating func decideProbes(on evidence: Evidence?, at now: Instant, _ effects: inout [AppEffect]) {
        guard let probe = spec.livenessProbe, let watch = liveness, let missed = watch.missed else { return }
        var basis = Countdown(.sceneUpdate, from: watch.failingSince ?? watch.startedAt, allowance: probe.allowance)
        basis.windowStart = countdown?.windowStart ?? watch.windowStart
        basis.deadline = min(now, watch.startedAt + missed.lastDuration)
        basis.credit = watch.credit
        basis.paused = watch.paused
        basis.rebases = watch.rebases
        if case .paused(_, let since, _) = watch.step { basis.paused += now - since }
        liveness?.isDecided = true
        scheduleProbe(at: now)
        decide(.probesFailed(missed), basis, on: evidence, at: now, &effects)
    }

    /// Answers that came meanwhile were heard, the look at the process was not.
    mutating func livenessAfterCapture(at now: Instant, _ effects: inout [AppEffect]) {
        switch liveness?.step {
        case .probing(let deadline):
            liveness?.step = .probing(deadline: max(deadline, now))
        case .examining:
            liveness?.step = .examining(backstop: now + Countdown.examinationBudget)
            effects.append(.inspect)
        case .waiting, .paused, nil:
            break
        }
    }
}
