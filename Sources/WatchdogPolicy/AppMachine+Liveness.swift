// SPDX-License-Identifier: Apache-2.0

extension AppMachine {
    /// Nonces that may still be answered; more than a few are outstanding only while the machine sleeps again and again.
    private static let unansweredLimit = 8

    mutating func sendPing(at now: Instant, _ effects: inout [AppEffect]) {
        let nonce = makeNonce()
        if unanswered.count == Self.unansweredLimit { unanswered.removeFirst() }
        unanswered.append(nonce)
        nextPing = nil
        lastPingSent = now
        countdown = Countdown(.sceneUpdate, from: now, allowance: spec.allowances.update)
        applyGrace()
        effects += [.beginWindow, .sendPing(nonce: nonce)]
    }

    /// SplitMix64: no thread of the app can answer a ping that it has not read.
    private mutating func makeNonce() -> UInt64 {
        nonceState &+= 0x9e37_79b9_7f4a_7c15
        var mixed = nonceState
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    mutating func ponged(_ nonce: UInt64, at now: Instant, _ effects: inout [AppEffect]) {
        guard let index = unanswered.firstIndex(of: nonce) else {
            strayAnswers += 1
            return
        }
        unanswered.removeSubrange(...index)
        guard phase == .running, let running = countdown, running.event == .sceneUpdate else { return }
        let latency = now - running.startedAt - running.paused
        pings.record(latency)
        recordHang(latency, &effects)
        unanswered.removeAll()
        countdown = nil
        nextPing = max(now, (lastPingSent ?? now) + spec.pingInterval)
    }

    mutating func watchdogPinged(at now: Instant, _ effects: inout [AppEffect]) {
        hasSpoken = true
        guard !answersPings else { return }
        pushes = true
        switch phase {
        case .running:
            expectPush(at: now, &effects)
        case .idle, .launching, .terminating, .capturing, .dying, .ended:
            break
        }
    }

    mutating func expectPush(at now: Instant, _ effects: inout [AppEffect]) {
        if let running = countdown, running.event == .sceneUpdate {
            let interval = now - running.startedAt - running.paused
            if running.condition == .reported { recordHang(interval, &effects) }
        }
        countdown = Countdown(.sceneUpdate, from: now, allowance: pushAllowance ?? spec.allowances.update)
        applyGrace()
        effects.append(.beginWindow)
    }

    private mutating func recordHang(_ duration: Duration, _ effects: inout [AppEffect]) {
        guard duration >= spec.hangThreshold else { return }
        hangs.record(duration)
        effects.append(.announce(.hung(for: duration)))
    }

    mutating func watchdogIntervalChanged(_ interval: Duration, at now: Instant, _ effects: inout [AppEffect]) {
        hasSpoken = true
        guard !answersPings else { return }
        guard interval > .zero else {
            pushes = false
            if phase == .running { countdown = nil }
            return
        }
        pushAllowance = interval
        pushes = true
        if phase == .running { expectPush(at: now, &effects) }
    }

    mutating func watchdogTriggered(at now: Instant, _ effects: inout [AppEffect]) {
        hasSpoken = true
        switch phase {
        case .launching, .running:
            if var running = countdown {
                guard running.condition == .counting else { return }
                running.deadline = now
                countdown = running
            } else {
                countdown = Countdown(.sceneUpdate, from: now, allowance: .zero)
                effects.append(.beginWindow)
            }
            countdown?.cause = .triggered
            examine(at: now, &effects)
        case .idle, .terminating, .capturing, .dying, .ended:
            break
        }
    }

    /// An extension moves the deadline to at least `now + duration`, never beyond allowance plus cap.
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
        let wanted = now + min(duration, spec.fairness.extensionCap)
        switch phase {
        case .launching, .terminating:
            break
        case .running:
            graceEnd = max(graceEnd ?? wanted, wanted)
        case .idle, .capturing, .dying, .ended:
            effects.append(.announce(.extensionRefused(.nothingToExtend)))
            return
        }
        guard var running = countdown else { return }
        let longest = running.deadline + max(.zero, spec.fairness.extensionCap - running.extended)
        let extended = min(wanted, longest)
        guard extended > running.deadline else {
            if wanted > running.deadline { effects.append(.announce(.extensionRefused(.capReached))) }
            return
        }
        let gained = extended - running.deadline
        running.extended += gained
        running.deadline = extended
        if case .examining = running.condition { running.condition = .counting }
        countdown = running
        effects.append(.announce(.extended(by: gained, event: running.event)))
    }

    /// A ping that is sent while an extension lasts has until its end.
    private mutating func applyGrace() {
        guard let grace = graceEnd, var running = countdown, grace > running.deadline else { return }
        running.extended += grace - running.deadline
        running.deadline = grace
        countdown = running
    }
}
