// SPDX-License-Identifier: Apache-2.0

extension AppMachine {
    /// Nonces that may still be answered; more than a few are outstanding only while the machine sleeps again and again.
    static let unansweredLimit = 8

    mutating func sendPing(at now: Instant, _ effects: inout [AppEffect]) {
        nextPing = nil
        guard lifecycle.freeze == nil else { return }
        countdown = Countdown(.sceneUpdate, from: now, allowance: spec.allowances.update)
        applyGrace(at: now)
        effects.append(.beginWindow)
        issuePing(at: now, &effects)
    }

    mutating func issuePing(at now: Instant, _ effects: inout [AppEffect]) {
        let nonce = makeNonce()
        if unanswered.count == Self.unansweredLimit { unanswered.removeFirst() }
        unanswered.append(nonce)
        lastPingSent = now
        effects.append(.sendPing(nonce: nonce))
    }

    /// SplitMix64: no thread of the app can answer a ping that it has not read.
    private mutating func makeNonce() -> UInt64 {
        nonceState &+= 0x9e37_79b9_7f4a_7c15
        var mixed = nonceState
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// An answer to an earlier ping than the last counts too: the last may have been dropped on its way.
    mutating func ponged(_ nonce: UInt64, at now: Instant, _ effects: inout [AppEffect]) {
        guard let index = unanswered.firstIndex(of: nonce) else {
            strayAnswers += 1
            return
        }
        unanswered.removeSubrange(...index)
        guard answersPings else {
            // One of an app whose history is lost: it answers pings, then.
            hello(at: now, &effects)
            return
        }
        guard life == .running, let running = countdown, running.event == .sceneUpdate, !running.isForObligation else {
            return
        }
        // How long the answer took is not known where nobody knows since when the clock stands still.
        if running.standstill?.isFound != true, !isUnattended {
            let latency = running.elapsed(at: now)
            pings.record(latency)
            recordHang(latency, &effects)
        }
        announceResumed(at: now, &effects)
        countdown = nil
        resumeAnswered(at: now, &effects)
        guard lifecycle.obligations.isEmpty else {
            watchObligations(at: now, &effects)
            return
        }
        scheduleNextPing(at: now)
    }

    mutating func scheduleNextPing(at now: Instant) {
        nextPing = max(now, onTick((lastPingSent ?? now) + spec.pingInterval))
    }

    /// The nearest of the instants at which all apps are pinged and looked at: who wakes up for one of them finds others
    /// that are due, and everything that they need is still in the caches.
    ///
    /// For what need not be exact; a deadline that kills is none of it.
    func onTick(_ instant: Instant) -> Instant {
        let tick = max(1, min(spec.pingInterval.nanoseconds / 100, 10_000_000))
        let (nearest, overflow) = instant.nanoseconds.addingReportingOverflow(tick / 2)
        return overflow ? instant : Instant(nanoseconds: nearest - nearest % tick)
    }

    mutating func watchdogPinged(at now: Instant, _ effects: inout [AppEffect]) {
        hasSpoken = true
        guard !answersPings, pushAllowance != .zero else { return }
        pushes = true
        if life == .running { expectPush(at: now, &effects) }
    }

    mutating func expectPush(at now: Instant, _ effects: inout [AppEffect]) {
        endPushes(at: now, &effects)
        guard lifecycle.freeze == nil else { return }
        countdown = Countdown(.sceneUpdate, from: now, allowance: pushAllowance ?? spec.allowances.update)
        applyGrace(at: now)
        effects.append(.beginWindow)
    }

    /// Intervals between pushes are the app's own choice: only one that was an incident is a hang.
    mutating func endPushes(at now: Instant, _ effects: inout [AppEffect]) {
        guard let running = countdown, running.event == .sceneUpdate else { return }
        if running.condition == .decided { recordHang(running.elapsed(at: now), &effects) }
        announceResumed(at: now, &effects)
        countdown = nil
    }

    mutating func recordHang(_ duration: Duration, _ effects: inout [AppEffect]) {
        guard duration >= spec.hangThreshold else { return }
        hangs.record(duration)
        effects.append(.announce(.hung(for: duration)))
    }

    /// Zero holds until another interval is given: a push that comes after it arms nothing.
    mutating func watchdogIntervalChanged(_ interval: Duration, at now: Instant, _ effects: inout [AppEffect]) {
        hasSpoken = true
        guard !answersPings else { return }
        pushAllowance = max(.zero, interval)
        pushes = interval > .zero
        guard life == .running else { return }
        if pushes {
            expectPush(at: now, &effects)
        } else {
            endPushes(at: now, &effects)
        }
    }

    /// An extension leaves the app at least `duration` from now, but no allowance grows by more than the cap.
    mutating func extend(
        by duration: Duration, _ progress: String?, at now: Instant, _ effects: inout [AppEffect]
    ) {
        hasSpoken = true
        let hasProgressed = progress != nil && progress != lastProgress
        guard spec.fairness.allowsBlindExtension || hasProgressed else {
            effects.append(.announce(.extensionRefused(.noProgress)))
            return
        }
        if hasProgressed { lastProgress = progress }
        guard isExtensible else {
            effects.append(.announce(.extensionRefused(.nothingToExtend)))
            return
        }
        let cap = spec.fairness.extensionCap
        if life == .running {
            let wanted = now + min(duration, cap)
            graceEnd = max(graceEnd ?? wanted, wanted)
        }
        switch countdown?.extend(by: duration, cap: cap, at: now) {
        case .gained(let gained):
            if let event = countdown?.event { effects.append(.announce(.extended(by: gained, event: event))) }
        case .capped:
            effects.append(.announce(.extensionRefused(.capReached)))
        case .needless, nil:
            break
        }
    }

    /// Between two pings no allowance runs, but the next one will; probes always go on.
    private var isExtensible: Bool {
        switch life {
        case .launching, .running, .terminating:
            guard let running = countdown else { return answersPings || liveness != nil }
            return running.condition != .decided
        case .idle, .dying, .ended:
            return false
        }
    }

    /// A ping that is sent while an extension lasts has until its end.
    mutating func applyGrace(at now: Instant) {
        guard let grace = graceEnd, grace > now else { return }
        let cap = spec.fairness.extensionCap
        _ = countdown?.extend(by: grace - now, cap: cap, at: now)
    }
}
