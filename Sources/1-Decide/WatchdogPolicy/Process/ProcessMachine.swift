// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// The life of one process from its launch to its verified death, decided from events and their times.
///
/// The machine reads no clock, file or environment: the supervisor reports what happened and when, executes the effects
/// in order, and calls again at ``nextDeadline``. The same events at the same instants give the same effects.
///
/// Invariants:
/// - no incident before its deadline, and every incident is closed by exactly one ``ProcessEffect/report(_:)``;
/// - ``nextDeadline`` is nil exactly while no allowance, ping or probe is due;
/// - an answer to an examination that is not open changes nothing;
/// - after a kill the machine ends, with the death verified or with an honest ``Notice/unkillable``;
/// - ``ProcessEffect/finish(_:)`` is the last effect; later events change nothing.
///
/// It is the face of ``Stages``, and knows which of their state is saved.
///
/// Isolation: a value; its holder serializes the calls.
public struct ProcessMachine: Sendable, Equatable {
    /// The stage of the process's life.
    public enum Phase: Hashable, Sendable {
        /// Not launched.
        case idle
        /// The process is running but not ready.
        case launching
        /// Ready.
        case running
        /// Asked to end, or ending by itself.
        case terminating(isRequested: Bool)
        /// The stacks are being captured; if the incident is enforced, the kill is decided.
        case capturing(Incident)
        /// Every process of the app was sent SIGKILL, or SIGTERM if the main process ended by itself; the machine waits
        /// for their death.
        case dying
        /// Over.
        case ended(Outcome)
    }

    /// The spec of the app.
    @Shared public private(set) var spec: AppSpec
    private var stages: Stages
    private var numbers = Numbers()

    /// Creates a machine for an app that is not running yet; its intervals must be positive.
    ///
    /// - Parameter nonceSeed: see ``init(sharing:nonceSeed:)``.
    public init(spec: AppSpec, nonceSeed: UInt64 = 0) {
        self.init(sharing: Shared(wrappedValue: spec), nonceSeed: nonceSeed)
    }

    /// Creates a machine that shares its spec with others.
    ///
    /// - Parameter nonceSeed: the start of the sequence of ping nonces; outside of tests, a number that no app can
    ///   guess.
    public init(sharing shared: Shared<AppSpec>, nonceSeed: UInt64) {
        let spec = shared.wrappedValue
        precondition(spec.hasPositiveIntervals, "an interval must be positive: the deadlines would never move on")
        precondition(spec.readiness != .probe || spec.livenessProbe != nil, "readiness needs a probe")
        _spec = shared
        stages = Stages(spec.lifecycle, nonceSeed: nonceSeed)
    }

    // MARK: - Questions

    var watches: Watches { stages.watches }

    /// The stage of the process's life.
    public var phase: Phase {
        if let capture = stages.watches.incidents.capture { return .capturing(capture.incident) }
        return switch stages.life {
        case .idle: .idle
        case .launching: .launching
        case .running: .running
        case .terminating(let isRequested): .terminating(isRequested: isRequested)
        case .dying: .dying
        case .ended(let outcome): .ended(outcome)
        }
    }

    /// The lifecycle state of the app.
    public var lifecycleState: LifecycleState {
        switch stages.life {
        case .idle, .ended: .notRunning
        case .launching: .launching
        case .running: stages.lifecycle.state
        case .terminating, .dying: .terminating
        }
    }

    /// The history of the app.
    public var lifecycleRecord: LifecycleRecord {
        var record = stages.lifecycle.record
        if record.moments.isEmpty { record.moments = stages.launch.moments }
        return record
    }

    /// Whether somebody has requested the end, or the app has ended.
    public var isEnding: Bool {
        switch stages.life {
        case .idle: stages.launch.requests > 0
        case .launching, .running, .terminating(isRequested: false): false
        case .terminating(isRequested: true), .dying, .ended: true
        }
    }

    /// When ``ProcessEvent/deadlineReached`` must be delivered next; nil if nothing is due until something happens.
    public var nextDeadline: Instant? { stages.due($spec) }

    /// When the process started to run.
    public var launchedAt: Instant? { stages.launch.startedAt }
    /// The time from `execve` to ready; nil before that.
    public var launchDuration: Duration? { stages.launch.duration }
    /// What made it ready; nil before that, and for an app whose history is lost.
    public var readinessSource: ReadinessSource? { stages.launch.source }
    /// Round trips of answered pings.
    public var pings: LatencyHistogram { stages.watches.duties.latencies.pings }
    /// Durations of successful liveness probes.
    public var probes: LatencyHistogram { stages.watches.duties.latencies.probes }
    /// Answers later than the hang threshold.
    public var hangs: LatencyHistogram { stages.watches.duties.latencies.hangs }
    /// When the main loop fell silent, if it had not answered when the app was asked to end, or ended; nil if it answered
    /// later.
    public var silentSince: Instant? { stages.watches.duties.latencies.silentSince }
    /// Answers to no ping: a sign that the app answers without reading.
    public var strayAnswers: Int { stages.watches.duties.latencies.strayAnswers }
    /// The incidents so far, the latest last; at most 64 are kept.
    public var incidents: [Incident] { stages.watches.incidents.closed }
    /// Whether an incident is open: decided, and not over yet.
    public var isInIncident: Bool { stages.watches.isInIncident }
    /// Whether the latest liveness probe was impossible.
    public var isProbeImpossible: Bool { stages.watches.isProbeImpossible }
    /// When the latest ping was sent.
    public var lastPingSent: Instant? { stages.watches.duties.lastPingSent }
    /// Whether the app has sent anything on its channel or its notify socket.
    public var hasSpoken: Bool { stages.watches.duties.hasSpoken }
    /// The progress token of the latest extension.
    public var lastProgress: String? { stages.watches.duties.lastProgress }

    // MARK: - Events

    /// The result of an event.
    public struct Step: Sendable {
        /// What to do, in order.
        public let effects: [ProcessEffect]
        /// The value of ``ProcessMachine/nextDeadline`` after the event.
        public let nextDeadline: Instant?
        /// Whether only a ping or a sample from outside is due then, which may wait for another app's deadline.
        public let canWait: Bool
        /// When to ask an examiner what the main thread is blocked in, because a deadline is near; nil while none is.
        ///
        /// Nothing is decided then: the answer is used at the deadline, if ``Foresight`` says that it still holds.
        public let foresightDue: Instant?
        /// What the event has shown of the app's answers.
        public let measurement: Measurement?
    }

    /// Handles an event and returns the deadline with the effects.
    ///
    /// Asking for the deadline separately would copy a machine that is stored in an object.
    public mutating func step(_ event: ProcessEvent, at now: Instant) -> Step {
        let turn = advance(event, at: now)
        let due = nextDeadline
        let canWait = due.map { stages.watches.duties.canWait(until: $0, $spec) } ?? false
        return Step(
            effects: turn?.effects ?? [], nextDeadline: due, canWait: canWait,
            foresightDue: stages.watches.duties.foresightDue, measurement: turn?.measurement)
    }

    /// Handles an event.
    ///
    /// - Parameters:
    ///   - event: what happened.
    ///   - now: when; never earlier than in the previous call.
    /// - Returns: what to do, in order.
    public mutating func handle(_ event: ProcessEvent, at now: Instant) -> [ProcessEffect] {
        advance(event, at: now)?.effects ?? []
    }

    /// Handles an event; nil if it changes nothing.
    private mutating func advance(_ event: ProcessEvent, at now: Instant) -> Turn? {
        guard stages.counts(event) else { return nil }
        var turn = Turn(at: now, $spec, stages.life, stages.launch, numbers)
        stages.handle(event, &turn)
        numbers = turn.numbers
        return turn
    }
}

// MARK: - Saved state

extension ProcessMachine {
    /// What changes with every sign of life; nil unless the app is running and healthy.
    public var pulse: Pulse? { isWell ? stages.watches.duties.pulse : nil }

    /// Whether it is running, and its pulse alone describes its progress.
    private var isWell: Bool { stages.life == .running && stages.watches.isWell }

    /// The machine without its pulse and its counters: if two are equal, no whole state has to be saved.
    public var withoutPulse: ProcessMachine {
        var copy = self
        var passing = stages.watches.passing(hasPulse: isWell)
        copy.exchange(&passing, Numbers(examinations: numbers.examinations))
        return copy
    }

    private mutating func exchange(_ passing: inout Watches.Passing, _ numbers: Numbers) {
        stages.exchange(&passing)
        self.numbers = numbers
    }

    /// What must be saved since a checkpoint; nil if there was none.
    ///
    /// The comparison copies nothing, and leaves the machine unchanged.
    public mutating func change(since checkpoint: Checkpoint?) -> Change {
        let isWell = isWell
        let isWhole = checkpoint.map { differs(from: $0, hasPulse: isWell) } ?? true
        return Change(isWhole: isWhole, pulse: isWell ? stages.watches.duties.pulse : nil)
    }

    private mutating func differs(from checkpoint: Checkpoint, hasPulse: Bool) -> Bool {
        var passing = stages.watches.passing(hasPulse: hasPulse)
        let numbers = numbers
        exchange(&passing, Numbers(examinations: numbers.examinations))
        defer { exchange(&passing, numbers) }
        return checkpoint.bare.isDifferent(from: self)
    }

    /// Resumes a saved machine.
    ///
    /// Until ``ProcessEvent/supervisorReturned(isLastStepDone:)`` it handles what happened in the meantime: exits and
    /// signs of life count, but the duration of an answer is unknown.
    ///
    /// - Parameters:
    ///   - saved: the saved machine.
    ///   - pulse: the latest pulse after that, if any.
    /// - Returns: nil for an invalid machine: an interval is not positive.
    public init?(resuming saved: SavedProcess, pulse: Pulse? = nil) {
        let spec = saved.spec
        guard spec.hasPositiveIntervals, spec.livenessProbe.map(\.isValid) ?? (spec.readiness != .probe) else {
            return nil
        }
        self.init(saved)
        stages.leaveUnattended()
        if let pulse, isWell { stages.restore(pulse) }
    }

    init(_ saved: SavedProcess) {
        _spec = saved.$spec
        stages = Stages(saved)
        numbers = Numbers(examinations: saved.examinations)
    }

    /// The state for the next supervisor.
    public var saved: SavedProcess { stages.saved($spec, examinations: numbers.examinations) }
}
