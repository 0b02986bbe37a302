// SPDX-License-Identifier: Apache-2.0

extension AppMachine {
    mutating func launch(_ effects: inout [AppEffect]) {
        guard life == .idle, !isSpawning else { return }
        isSpawning = true
        effects.append(.spawn)
    }

    mutating func spawned(_ pid: Int32, at now: Instant, _ effects: inout [AppEffect]) {
        guard life == .idle else { return }
        life = .launching
        launchedAt = now
        let isInBackground = spec.lifecycle.launchesInBackground
        countdown = Countdown(
            .processLaunch, from: now,
            allowance: isInBackground ? spec.lifecycle.backgroundLaunch : spec.allowances.launch)
        if isInBackground { watchLaunchCPUTime(at: now) }
        effects += [.announce(.launched(pid: pid)), .beginWindow]
        if spec.readiness == .none {
            becomeReady(.exec, at: now, &effects)
        } else if spec.readiness.isProbed {
            nextProbe = now + spec.probeInterval
        } else if spec.readiness == .probe {
            liveness = LivenessWatch(nextProbe: now + spec.probeInterval)
        }
        for _ in 0..<requestsWhileSpawning { terminate(isRequested: true, at: now, &effects) }
    }

    mutating func spawnFailed(_ effects: inout [AppEffect]) {
        guard life == .idle else { return }
        finish(.spawnFailed, verified: true, &effects)
    }

    /// The launch budget spans `process-launch` and `scene-create`: the second gets what the first left.
    mutating func hello(at now: Instant, _ effects: inout [AppEffect]) {
        hasSpoken = true
        guard !answersPings else { return }
        answersPings = true
        switch life {
        case .launching:
            guard let running = countdown, running.event == .processLaunch, running.condition == .counting else {
                return
            }
            countdown = running.handedOver(to: .sceneCreate, at: now)
        case .running:
            pushes = false
            endPushes(at: now, &effects)
            sendPing(at: now, &effects)
        case .idle, .terminating, .dying, .ended:
            break
        }
    }

    mutating func ready(_ source: ReadinessSource, at now: Instant, _ effects: inout [AppEffect]) {
        hasSpoken = true
        let counts =
            switch (spec.readiness, source) {
            case (.automatic, _), (.channel, .channel), (.notify, .notify): true
            case (.listening, .probe), (.command, .probe), (.none, .exec): true
            case (.channel, _), (.notify, _), (.listening, _), (.command, _), (.probe, _), (.none, _): false
            }
        guard counts, life == .launching else { return }
        becomeReady(source, at: now, &effects)
    }

    mutating func probed(_ isReady: Bool, at now: Instant, _ effects: inout [AppEffect]) {
        guard life == .launching, spec.readiness.isProbed else { return }
        if isReady {
            becomeReady(.probe, at: now, &effects)
        } else {
            nextProbe = now + spec.probeInterval
        }
    }

    mutating func becomeReady(_ source: ReadinessSource, at now: Instant, _ effects: inout [AppEffect]) {
        let duration = now - (launchedAt ?? now)
        announceResumed(at: now, &effects)
        life = .running
        countdown = nil
        nextProbe = nil
        graceEnd = nil
        if hasChangedLifecycle {
            lifecycle.cpu = nil
            enter(lifecycleState, at: now)
        }
        launchDuration = duration
        readinessSource = source
        effects.append(.announce(.ready(source, after: duration)))
        if answersPings {
            sendPing(at: now, &effects)
        } else if pushes {
            expectPush(at: now, &effects)
        }
        beginLiveness(at: now)
        if lifecycle.visibility == .background { beginStay(at: now, &effects) }
        pursueGoal(at: now, &effects)
    }
}
