// SPDX-License-Identifier: Apache-2.0

extension AppMachine {
    /// What changes with every sign of life of an app that is well: little enough to be saved each time.
    public struct Pulse: Hashable, Sendable {
        /// Where the sequence of nonces is.
        public var nonceState: UInt64
        /// Nonces that may still be answered, the latest last; at most ``AppMachine/pulseNonces``.
        public var unanswered: [UInt64]
        /// When the last ping was sent.
        public var lastPingSent: Instant?
        /// When the next is due.
        public var nextPing: Instant?
        /// When the allowance that runs was started; nil when none runs.
        public var startedAt: Instant?
        /// The allowance that runs; zero when none does.
        public var allowance: Duration

        /// Creates a pulse from its parts.
        public init(
            nonceState: UInt64,
            unanswered: [UInt64],
            lastPingSent: Instant?,
            nextPing: Instant?,
            startedAt: Instant?,
            allowance: Duration
        ) {
            self.nonceState = nonceState
            self.unanswered = unanswered
            self.lastPingSent = lastPingSent
            self.nextPing = nextPing
            self.startedAt = startedAt
            self.allowance = allowance
        }
    }

    /// The most nonces that a ``Pulse`` holds.
    public static let pulseNonces = unansweredLimit

    /// How long an app has for an answer whose deadline passed while no supervisor ran, or its whole allowance if that is
    /// shorter.
    static let returnBudget: Duration = .milliseconds(250)

    /// What changes with every sign of life; nil while the app is in any other state than running and well.
    public var pulse: Pulse? {
        isWell ? well : nil
    }

    /// Whether it is running, and nothing but its pulse tells what becomes of it.
    private var isWell: Bool {
        guard life == .running, $capture.isEmpty, $trigger.isEmpty else { return false }
        guard let countdown else { return true }
        return countdown == Countdown(.sceneUpdate, from: countdown.startedAt, allowance: countdown.allowance)
    }

    private var well: Pulse {
        Pulse(
            nonceState: nonceState,
            unanswered: unanswered,
            lastPingSent: lastPingSent,
            nextPing: nextPing,
            startedAt: countdown?.startedAt,
            allowance: countdown?.allowance ?? .zero
        )
    }

    /// The machine without its pulse and without what is only counted: two that are equal differ in nothing that has to
    /// be saved as a whole.
    public var withoutPulse: AppMachine {
        var copy = self
        var passing = Passing($liveness, hasPulse: isWell)
        copy.exchange(&passing)
        return copy
    }

    /// What has to be saved of a machine.
    public struct Change {
        /// Whether it differs from what was saved as a whole.
        public let isWhole: Bool
        /// What changes with every sign of life.
        public let pulse: Pulse?
    }

    /// What was saved last as a whole, to compare with.
    public struct Checkpoint: Sendable {
        // A copy to compare with would cost as much as what is compared with it.
        fileprivate let bare: Boxed<AppMachine>

        /// Remembers a machine that is saved now.
        public init(of machine: AppMachine) {
            bare = Boxed(wrappedValue: machine.withoutPulse)
        }
    }

    /// What has to be saved since a checkpoint; nil when there was none.
    ///
    /// Nothing is copied for the comparison, and afterwards the machine is as it was.
    public mutating func change(since checkpoint: Checkpoint?) -> Change {
        let isWell = isWell
        let isWhole = checkpoint.map { differs(from: $0, hasPulse: isWell) } ?? true
        return Change(isWhole: isWhole, pulse: isWell ? well : nil)
    }

    private mutating func differs(from checkpoint: Checkpoint, hasPulse: Bool) -> Bool {
        var passing = Passing($liveness, hasPulse: hasPulse)
        exchange(&passing)
        defer { exchange(&passing) }
        return checkpoint.bare.isDifferent(from: self)
    }

    /// What a machine ``withoutPulse`` has in place of what passes.
    private struct Passing {
        var pings = LatencyHistogram()
        var probes = LatencyHistogram()
        var hangs = LatencyHistogram()
        var strayAnswers = 0
        // A probe that is lost is made again, and an app that stands up to them has nothing to lose by it.
        var probeCount = 0
        var liveness: Boxed<LivenessWatch>
        let hasPulse: Bool
        var nonceState: UInt64 = 0
        var unanswered: [UInt64] = []
        var lastPingSent: Instant?
        var nextPing: Instant?
        var countdown: Countdown?

        init(_ liveness: Boxed<LivenessWatch>, hasPulse: Bool) {
            self.liveness = liveness
            if !liveness.isEmpty { self.liveness.wrappedValue = liveness.wrappedValue?.withoutProgress }
            self.hasPulse = hasPulse
        }
    }

    private mutating func exchange(_ passing: inout Passing) {
        swap(&pings, &passing.pings)
        swap(&probes, &passing.probes)
        swap(&hangs, &passing.hangs)
        swap(&strayAnswers, &passing.strayAnswers)
        swap(&probeCount, &passing.probeCount)
        swap(&$liveness, &passing.liveness)
        guard passing.hasPulse else { return }
        swap(&nonceState, &passing.nonceState)
        swap(&unanswered, &passing.unanswered)
        swap(&lastPingSent, &passing.lastPingSent)
        swap(&nextPing, &passing.nextPing)
        swap(&countdown, &passing.countdown)
    }

    /// Goes on where a machine was when it was saved.
    ///
    /// Until ``AppEvent/supervisorReturned(isLastStepDone:)`` it hears what happened meanwhile: exits and signs of life
    /// count, but it is not known how long an answer took.
    ///
    /// - Parameters:
    ///   - saved: the machine as it was saved.
    ///   - pulse: what was saved since; nil for nothing.
    /// - Returns: nil when it is no machine that could be: an interval is not positive.
    public init?(resuming saved: AppMachine, pulse: Pulse? = nil) {
        let spec = saved.spec
        guard spec.pingInterval > .zero, spec.probeInterval > .zero, spec.fairness.pauseInterval > .zero else {
            return nil
        }
        guard spec.livenessProbe.map(\.isValid) ?? (spec.readiness != .probe) else { return nil }
        self = saved
        isUnattended = true
        // Probes are begun anew, whenever the last one was that is known of.
        probeCount = 0
        liveness = liveness?.withoutProgress
        guard let pulse, self.pulse != nil else { return }
        nonceState = pulse.nonceState
        unanswered = pulse.unanswered.suffix(Self.unansweredLimit)
        lastPingSent = pulse.lastPingSent
        nextPing = pulse.nextPing
        countdown = pulse.startedAt.map { Countdown(.sceneUpdate, from: $0, allowance: pulse.allowance) }
    }

    // MARK: - Events

    /// Asks again for everything of which the answer can have been lost.
    ///
    /// A deadline that lies ahead stays where it is. One that has passed has been missed in earnest, because what the app
    /// said meanwhile was kept and is read by now; but an app that can be asked is asked once more.
    mutating func supervisorReturned(isLastStepDone: Bool, at now: Instant, _ effects: inout [AppEffect]) {
        isUnattended = false
        livenessReturned(at: now)
        if let interrupted = capture {
            let budgetEnd = now + spec.captureBudget
            capture?.budgetEnd = budgetEnd
            effects.append(.capture(interrupted.incident))
            return
        }
        switch life {
        case .idle, .ended:
            break
        case .dying:
            deathBudgetEnd = now + spec.deathBudget
            effects.append(.killTree)
        case .launching, .running, .terminating:
            if !isLastStepDone, life == .terminating(isRequested: true) { effects.append(.terminate) }
            // Its own end was the end of its suspension.
            if !isLastStepDone, life == .terminating(isRequested: false), lifecycle.goal == .suspended {
                effects.append(.lifecycle(.thaw))
            }
            if life == .launching, spec.readiness.isProbed, nextProbe == nil { effects.append(.probe) }
            if let asked = trigger {
                let patience = asked.pausedSince == nil ? Countdown.examinationBudget : spec.fairness.pauseInterval
                trigger?.due = now + patience
                effects.append(.inspect)
            }
            returnToCountdown(at: now, &effects)
            returnToLifecycle(at: now, &effects)
        }
    }

    private mutating func returnToCountdown(at now: Instant, _ effects: inout [AppEffect]) {
        guard let running = countdown else { return }
        switch running.condition {
        case .counting where running.deadline > now, .decided:
            break
        case .counting:
            guard running.event == .sceneUpdate, !running.isForObligation, answersPings, life == .running else {
                examine(at: now, &effects)
                return
            }
            countdown?.deadline = now + min(running.budget, Self.returnBudget)
            issuePing(at: now, &effects)
        case .examining:
            examine(at: now, &effects)
        case .paused(var standstill):
            standstill.nextLook = now + spec.fairness.pauseInterval
            countdown?.condition = .paused(standstill)
            // An answer to the trigger's look answers this one too.
            if trigger == nil { effects.append(.inspect) }
        }
    }

    /// It is taken for running and well, and nothing is held against it that it cannot know of.
    ///
    /// Whether it answers pings shows when it answers the one that is sent here.
    mutating func adopted(_ pid: Int32, at now: Instant, _ effects: inout [AppEffect]) {
        guard life == .idle, !isSpawning else { return }
        life = .running
        launchedAt = now
        // There was no launch that anybody saw.
        lifecycle.record.enter(.foreground, at: now)
        hasSpoken = true
        effects += [.announce(.adopted(pid: pid)), .beginWindow]
        issuePing(at: now, &effects)
        beginLiveness(at: now)
    }

    mutating func channelLost(at now: Instant, _ effects: inout [AppEffect]) {
        leaveLifecycle(at: now, &effects)
        let isAwaited = spec.readiness == .channel || (spec.readiness == .automatic && answersPings)
        unanswered = []
        guard answersPings || isAwaited else { return }
        effects.append(.announce(.channelLost))
        switch life {
        case .launching:
            answersPings = false
            if isAwaited { becomeReady(.assumed, at: now, &effects) }
        case .running:
            nextPing = nil
            if answersPings, countdown?.event == .sceneUpdate {
                announceResumed(at: now, &effects)
                countdown = nil
            }
        case .idle, .terminating, .dying, .ended:
            break
        }
        answersPings = false
    }
}
