// SPDX-License-Identifier: Apache-2.0

/// The life of one app from its launch to its verified death, decided from events and the time that comes with them.
///
/// The machine reads no clock, file or environment: the supervisor tells it what happened and when, executes the effects
/// it returns in order, and calls again at ``nextDeadline``. The same events at the same instants give the same effects.
///
/// What holds always:
/// - no incident before its deadline, and every incident is closed by exactly one ``AppEffect/report(_:)``;
/// - ``nextDeadline`` is nil exactly while no allowance, ping or probe is due;
/// - after a kill the machine ends, with the death verified or with an honest ``Notice/unkillable``;
/// - ``AppEffect/finish(_:)`` is the last effect; events that come later change nothing.
///
/// Isolation: a value; whoever holds it serialises the calls.
public struct AppMachine: Sendable, Equatable, Codable {
    /// Where the app is in its life.
    public enum Phase: Hashable, Sendable {
        /// Not launched.
        case idle
        /// The process runs and is not ready.
        case launching
        /// Ready.
        case running
        /// Asked to end, or ending by its own will.
        case terminating(isRequested: Bool)
        /// The stacks are being taken; the decision to kill has fallen if the incident is enforced.
        case capturing(Incident)
        /// Every process of the app was sent SIGKILL; their death is awaited.
        case dying
        /// Over.
        case ended(Outcome)
    }

    /// What the machine was made for.
    @Shared public internal(set) var spec: AppSpec
    /// When the process started to run.
    public internal(set) var launchedAt: Instant?
    /// From `execve` to ready; nil before that.
    public internal(set) var launchDuration: Duration?
    /// What made it ready; nil before that, and of an app whose history is lost.
    public internal(set) var readinessSource: ReadinessSource?
    /// Round trips of pings, as far as they were answered.
    public internal(set) var pings = LatencyHistogram()
    /// Times that liveness probes took, as far as they succeeded.
    public internal(set) var probes = LatencyHistogram()
    /// Answers later than the hang threshold.
    public internal(set) var hangs = LatencyHistogram()
    /// Answers to no ping: a sign of an app that answers by habit.
    public internal(set) var strayAnswers = 0
    /// The incidents so far, the latest last; at most 64 are kept.
    public internal(set) var incidents: [Incident] = []

    /// The app's life without regard to a capture that is under way.
    ///
    /// Below a capture that kills, nothing counts but death. Below one that only reports, life goes on: signs of life
    /// count at the instant at which they come.
    enum Life: Hashable, Sendable, Codable {
        case idle
        case launching
        case running
        case terminating(isRequested: Bool)
        case dying
        indirect case ended(Outcome)
    }

    struct Capture: Hashable, Sendable, Codable {
        let incident: Incident
        var budgetEnd: Instant
        /// The second request to terminate came; the kill waits until the stacks for the report are taken.
        var isKillRequested = false
    }

    var life = Life.idle
    var isSpawning = false
    /// Requests to terminate a process that is being started; they are carried out once it is there to be ended.
    var requestsWhileSpawning = 0
    @Boxed var capture: Capture?
    var countdown: Countdown?
    /// Whether the process is looked at from outside while its allowance runs.
    var isObserving = false
    @Boxed var trigger: Trigger?
    @Boxed var liveness: LivenessWatch?
    /// How many liveness probes were begun; the number of the latest.
    var probeCount = 0
    /// Since when the process is known to be stopped by a signal.
    var stoppedSince: Instant?
    var nextPing: Instant?
    var nextProbe: Instant?
    var deathBudgetEnd: Instant?
    var unanswered: [UInt64] = []
    /// When the latest ping was sent.
    public internal(set) var lastPingSent: Instant?
    var nonceState: UInt64
    var answersPings = false
    /// Whether the app has said anything, on its channel or its notify socket.
    public internal(set) var hasSpoken = false
    var pushAllowance: Duration?
    var pushes = false
    var graceEnd: Instant?
    /// The token of progress that came with the latest extension.
    public internal(set) var lastProgress: String?
    var incidentCount = 0
    @Boxed var killed: Incident?
    var isKilledOnRequest = false
    var exitStatus: ExitStatus?
    var isTreeEmpty = false
    /// Whether the app was asked to end; nil when it was neither asked nor said that it ends.
    var wasTerminating: Bool?
    /// Nil while there is nothing in it that a new one would not have.
    @Boxed private var changedLifecycle: Lifecycle?
    var lifecycle: Lifecycle {
        // It is looked at several times for each event, and is too large to be copied each time.
        _read { yield _changedLifecycle[default: Lifecycle.unchanged] }
        set { changedLifecycle = newValue == Lifecycle.unchanged ? nil : newValue }
    }
    /// Whether there is more of the lifecycle than a launch into the foreground.
    var hasChangedLifecycle: Bool { !_changedLifecycle.isEmpty }
    /// From the supervisor's restart until it has returned: when an answer came is not known then.
    var isUnattended = false

    /// Creates a machine for an app that does not run yet; its intervals must be positive.
    ///
    /// - Parameter nonceSeed: see ``init(sharing:nonceSeed:)``.
    public init(spec: AppSpec, nonceSeed: UInt64 = 0) {
        self.init(sharing: Shared(wrappedValue: spec), nonceSeed: nonceSeed)
    }

    /// Creates a machine that shares its spec with whoever holds it already.
    ///
    /// - Parameter nonceSeed: where the sequence of ping nonces starts: what no app can guess, but in tests.
    public init(sharing shared: Shared<AppSpec>, nonceSeed: UInt64) {
        let spec = shared.wrappedValue
        precondition(
            spec.pingInterval > .zero && spec.probeInterval > .zero && spec.fairness.pauseInterval > .zero,
            "an interval must be positive: the deadlines would never move on"
        )
        precondition(spec.readiness != .probe || spec.livenessProbe != nil, "readiness needs a probe")
        _spec = shared
        self.nonceState = nonceSeed
        if spec.lifecycle.launchesInBackground {
            lifecycle.visibility = .background
            lifecycle.goal = .background
        }
    }

    /// Where the app is in its life.
    public var phase: Phase {
        if let capture { return .capturing(capture.incident) }
        return switch life {
        case .idle: .idle
        case .launching: .launching
        case .running: .running
        case .terminating(let isRequested): .terminating(isRequested: isRequested)
        case .dying: .dying
        case .ended(let outcome): .ended(outcome)
        }
    }

    /// Whether somebody has asked for its end, or that has come.
    public var isEnding: Bool {
        switch life {
        case .idle: requestsWhileSpawning > 0
        case .launching, .running, .terminating(isRequested: false): false
        case .terminating(isRequested: true), .dying, .ended: true
        }
    }

    /// When ``AppEvent/deadlineReached`` has to be delivered next; nil when nothing is due until something happens.
    public var nextDeadline: Instant? {
        guard $capture.isEmpty else { return capture?.budgetEnd }
        return switch life {
        case .idle, .ended: nil
        case .launching, .running, .terminating:
            .earliest(
                .earliest(.earliest(countdown?.due, observationDue), .earliest(triggerDeadline, nextPing)),
                .earliest(.earliest(nextProbe, lifecycleDeadline), livenessDeadline))
        case .dying: deathBudgetEnd
        }
    }

    /// The incident that is open, if the app is in one: decided, and not over yet.
    public var isInIncident: Bool {
        capture != nil || killed != nil || countdown?.condition == .decided || liveness?.isDecided == true
    }

    /// Tells the machine what happened.
    ///
    /// - Parameters:
    ///   - event: what happened.
    ///   - now: when; never earlier than in the call before.
    /// - Returns: what to do, in order.
    public mutating func handle(_ event: AppEvent, at now: Instant) -> [AppEffect] {
        guard counts(event) else { return [] }
        var effects: [AppEffect] = []
        let before = countdown
        perform(event, at: now, &effects)
        followObservation(since: before, at: now, &effects)
        return effects
    }

    /// What follows from an event.
    public struct Step: Sendable {
        /// What to do, in order.
        public let effects: [AppEffect]
        /// ``AppMachine/nextDeadline`` from now on.
        public let nextDeadline: Instant?
        /// Whether only a ping or a look from outside is due then, which a deadline of another app may keep waiting.
        public let canWait: Bool
    }

    /// Handles an event, and tells the deadline along with the effects: a machine that is part of an object would be copied
    /// to be asked for it.
    public mutating func step(_ event: AppEvent, at now: Instant) -> Step {
        let effects = handle(event, at: now)
        let due = nextDeadline
        return Step(
            effects: effects, nextDeadline: due, canWait: due != nil && (due == nextPing || due == observationDue))
    }

    /// Of a process that is gone or condemned only the death matters; what it left in the sockets is no sign of life.
    private func counts(_ event: AppEvent) -> Bool {
        switch life {
        case .ended: return false
        case .dying: break
        case .idle, .launching, .running, .terminating:
            guard exitStatus != nil || (!$capture.isEmpty && capture?.incident.isEnforced == true) else { return true }
        }
        return switch event {
        case .deadlineReached, .captured, .exited, .treeEmptied, .supervisorReturned: true
        case .launchRequested, .spawned, .spawnFailed, .hello, .notified, .ready, .probed, .livenessProbed, .ponged,
            .watchdogPinged, .watchdogTriggered, .watchdogIntervalChanged, .extensionRequested, .stopping,
            .terminateRequested, .stopped, .continued, .machineResumed, .inspected, .adopted, .channelLost, .lifecycle:
            false
        }
    }

    private mutating func perform(_ event: AppEvent, at now: Instant, _ effects: inout [AppEffect]) {
        switch event {
        case .launchRequested: launch(&effects)
        case .spawned(let pid): spawned(pid, at: now, &effects)
        case .spawnFailed: spawnFailed(&effects)
        case .hello: hello(at: now, &effects)
        case .notified: hasSpoken = true
        case .ready(let source): ready(source, at: now, &effects)
        case .probed(let isReady): probed(isReady, at: now, &effects)
        case .livenessProbed(let id, let result): livenessProbed(id, result, at: now, &effects)
        case .ponged(let nonce): ponged(nonce, at: now, &effects)
        case .watchdogPinged: watchdogPinged(at: now, &effects)
        case .watchdogTriggered: watchdogTriggered(at: now, &effects)
        case .watchdogIntervalChanged(let interval): watchdogIntervalChanged(interval, at: now, &effects)
        case .extensionRequested(let duration, let progress): extend(by: duration, progress, at: now, &effects)
        case .stopping: terminate(isRequested: false, at: now, &effects)
        case .terminateRequested: terminate(isRequested: true, at: now, &effects)
        case .stopped:
            stopped(at: now, &effects)
            livenessStopped(at: now, &effects)
        case .continued:
            continued(at: now, &effects)
            livenessContinued(at: now, &effects)
        case .machineResumed(let suspension):
            machineResumed(suspension, at: now, &effects)
            livenessResumed(at: now, &effects)
        case .deadlineReached: deadlineReached(at: now, &effects)
        case .inspected(let evidence): inspected(evidence, at: now, &effects)
        case .captured: captured(at: now, &effects)
        case .exited(let status): exited(status, at: now, &effects)
        case .treeEmptied: treeEmptied(at: now, &effects)
        case .lifecycle(let event): lifecycleHappened(event, at: now, &effects)
        case .supervisorReturned(let isLastStepDone):
            supervisorReturned(isLastStepDone: isLastStepDone, at: now, &effects)
        case .adopted(let pid): adopted(pid, at: now, &effects)
        case .channelLost: channelLost(at: now, &effects)
        }
    }
}
