// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

/// The ledger across a restart of the supervisor.
extension Ledger {
    /// Stray answers counted since the last save are lost.
    mutating func restarted(strays: Int) {
        self.strays = strays
        probes.bookRestart()
        // Of the allowance of those that were asked to end, only the end is saved.
        guard isAsking else { return }
        clock = .counting
        hasCredit = false
    }

    mutating func bookReturn(_ effects: [ProcessEffect], isLastStepDone: Bool, at now: Instant) -> String? {
        probes.bookReturn(at: now)
        asked[.probes] = nil
        var expected: [String] = []
        if let open = capture {
            capture?.end = now + spec.captureBudget
            expected = ["capture"]
            if effects != [.capture(open.incident)] { return "not captured again" }
        } else if stage == .dying, isAsking {
            expected = ["ask the tree"] + returnToClock(effects, at: now)
        } else if stage == .dying {
            deathEnd = now + spec.deathBudget
            expected = ["kill"]
        } else if stage == .launching || stage == .running || isEnding {
            if !isLastStepDone, stage == .ending(isRequested: true) { expected.append("terminate") }
            if stage == .launching, spec.readiness.isProbed, nextProbe == nil { expected.append("probe") }
            if let trigger {
                self.trigger?.due = now + (trigger.isHeld ? spec.fairness.pauseInterval : .milliseconds(250))
                expected.append("inspect")
                bookExamination(by: .trigger)
            }
            expected += returnToClock(effects, at: now)
        }
        let done = effects.map(\.summary)
        let ids = effects.compactMap { if case .inspect(let id) = $0 { id } else { nil } }
        if let last = ids.last, last != lastExamination { return "examination \(last), not \(lastExamination)" }
        return done == expected ? nil : "after the return \(done), not \(expected)"
    }

    private mutating func bookExamination(by asker: Asker) {
        lastExamination += 1
        asked[asker] = lastExamination
    }

    private var isEnding: Bool {
        if case .ending = stage { true } else { false }
    }

    private mutating func returnToClock(_ effects: [ProcessEffect], at now: Instant) -> [String] {
        switch clock {
        case .none, .over: return []
        case .counting where until > now: return []
        case .counting where stage == .launching && spec.readiness == .automatic && !hasSpoken: return []
        case .counting:
            guard event == .sceneUpdate, answersPings, stage == .running else {
                clock = .looking(until: now + .milliseconds(250))
                bookExamination(by: .clock)
                return ["inspect"]
            }
            until = now + min(whole, .milliseconds(250))
            for case .sendPing(let nonce) in effects {
                if outstanding.count == 8 { outstanding.removeFirst() }
                outstanding.append(nonce)
                lastPing = now
            }
            return ["ping"]
        case .looking:
            clock = .looking(until: now + .milliseconds(250))
            bookExamination(by: .clock)
            return ["inspect"]
        case .standing(let left, let isFound, _):
            clock = .standing(left: left, isFound: isFound, nextLook: now + spec.fairness.pauseInterval)
            bookExamination(by: .clock)
            return ["inspect"]
        }
    }

    mutating func bookAdoption(_ effects: [ProcessEffect], at now: Instant) -> String? {
        guard stage == .idle, !isSpawning else { return effects.isEmpty ? nil : "adopted at \(stage)" }
        stage = .running
        launchedAt = now
        hasSpoken = true
        probes.bookReady(isAnswered: false, at: now)
        for case .sendPing(let nonce) in effects {
            outstanding.append(nonce)
            lastPing = now
        }
        let done = effects.map(\.summary)
        return done == ["(adopted)", "window", "ping"] ? nil : "adopted with \(done)"
    }

    mutating func bookLoss(_ effects: [ProcessEffect], at now: Instant) -> String? {
        let isAwaited = spec.readiness == .channel || (spec.readiness == .automatic && answersPings)
        outstanding = []
        guard answersPings || isAwaited else { return effects.isEmpty ? nil : "lost what never was" }
        switch stage {
        case .launching where isAwaited:
            stage = .running
            clock = .none
            nextProbe = nil
            grace = nil
            answersPings = false
            probes.bookReady(isAnswered: false, at: now)
            if pushes { begin(.sceneUpdate, pushAllowance ?? spec.allowances.update, at: now) }
        case .running:
            nextPing = nil
            if answersPings, event == .sceneUpdate { clock = .none }
        case .idle, .launching, .ending, .dying, .over:
            break
        }
        answersPings = false
        return effects.first == .announce(.channelLost) ? nil : "a loss of which nothing is said"
    }

    /// Pings of all apps share instants that are a hundredth of their interval apart, and at most ten milliseconds.
    func nearestTick(to instant: Instant) -> Instant {
        let tick = max(1, min(spec.pingInterval.nanoseconds / 100, 10_000_000))
        let before = instant.nanoseconds / tick * tick
        let isNearer = instant.nanoseconds - before < tick - tick / 2
        return Instant(nanoseconds: isNearer ? before : before + tick)
    }
}
