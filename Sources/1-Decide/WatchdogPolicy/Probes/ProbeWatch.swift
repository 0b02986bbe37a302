// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The liveness probes of one app, independent of the allowance for its pings.
struct ProbeWatch: Hashable, Sendable {
    /// The state of other watches that matters for probes.
    struct Circumstances {
        /// The window start of the running allowance; nil if none is running.
        var window: Instant?
        /// Until then, failures have no consequence.
        var graceEnd: Instant?
        /// One hang, one incident: while another is open, failures are only counted.
        var isInIncident: Bool
        /// From this instant, being stopped is no excuse; nil unless the process is known to be stopped.
        var stopExcuseEnd: Instant?
    }

    /// What the holder of the watch must do.
    enum Outcome {
        case nothing
        /// The first success, which makes the app ready.
        case ready
        /// An app in an incident answers again, after this time.
        case hung(Duration)
        case decided(MissedProbes, Judgement)
    }

    private enum Step: Hashable, Sendable {
        case waiting(until: Instant)
        case probing(deadline: Instant)
        /// The process is examined or paused; the judgement of the failures decides what comes next.
        case judging
    }

    /// Consecutive failures.
    private struct Failures: Hashable, Sendable {
        var missed: MissedProbes
        /// When the first of them started.
        let since: Instant
        /// Exists from the first examination on.
        ///
        /// While it is counting, failures have no consequence before its deadline.
        var judgement: Judgement?
    }

    /// An instant before any event.
    private static let anyTime = Instant(nanoseconds: 0)

    private var step: Step
    /// When the latest probe started.
    private var startedAt: Instant
    private var windowStart: Instant
    private var failures: Failures?
    private var paused = Duration.zero
    private var rebases = 0
    /// When the process that should answer, if it is not the main process, was found to be stopped by a signal; nil if it was
    /// not at the latest examination.
    private var serverStoppedSince: Instant?
    /// Whether the latest probe was impossible.
    private(set) var isImpossible = false

    /// How many of the latest probes failed, and when the first of them started; nil if the latest succeeded.
    var missed: (count: Int, since: Instant)? { failures.map { ($0.missed.count, $0.since) } }
    /// Who holds the process up, and since when, as far as the judgement of failures found.
    var held: (pause: Pause, since: Instant)? { failures?.judgement?.held }

    init(nextProbe: Instant) {
        step = .waiting(until: nextProbe)
        startedAt = nextProbe
        windowStart = nextProbe
    }

    var due: Instant {
        switch step {
        case .waiting(let until): until
        case .probing(let deadline): deadline
        case .judging: failures?.judgement?.due ?? Self.anyTime
        }
    }

    /// Whether an incident is decided, so that failures have no further consequence until the app answers.
    var isDecided: Bool { failures?.judgement?.isDecided == true }
    private var isProbing: Bool { if case .probing = step { true } else { false } }
    private var isExamining: Bool { step == .judging && failures?.judgement?.isExamining == true }

    func awaits(_ id: Int) -> Bool { step == .judging && failures?.judgement?.awaits(id) == true }

    /// The watch without its times, unless there are failures.
    var withoutProgress: ProbeWatch {
        guard failures == nil else { return self }
        var copy = self
        copy.startedAt = Self.anyTime
        copy.windowStart = Self.anyTime
        copy.serverStoppedSince = nil
        copy.step = .waiting(until: Self.anyTime)
        return copy
    }

    // MARK: - Probes

    private mutating func start(_ circumstances: Circumstances, _ turn: inout Turn) {
        guard let probe = turn.spec.livenessProbe else { return }
        cancel(&turn)
        failures?.judgement?.dropExamination()
        // Evidence about a ping counts from that ping, so keep its window.
        if failures == nil, circumstances.window == nil, turn.life == .running {
            turn.perform(.beginWindow)
            windowStart = turn.now
        } else if windowStart == Self.anyTime {
            windowStart = circumstances.window ?? turn.now
        }
        startedAt = turn.now
        step = .probing(deadline: turn.now + probe.timeout)
        turn.perform(.probeLiveness(id: turn.numbers.nextProbe()))
    }

    /// Repeats a probe that the supervisor or the machine overslept: only a fresh one can fail.
    private mutating func startOver(_ circumstances: Circumstances, _ turn: inout Turn) {
        rebases += 1
        start(circumstances, &turn)
    }

    /// Cancels a probe before the watch ends or stands still.
    func cancel(_ turn: inout Turn) {
        if isProbing { turn.perform(.cancelLivenessProbe) }
    }

    /// Schedules the next probe, an interval after the start of the latest.
    mutating func schedule(_ turn: Turn) {
        guard let probe = turn.spec.livenessProbe else { return }
        let interval = turn.life == .launching ? turn.spec.probeInterval : probe.interval
        step = .waiting(until: max(turn.now, startedAt + interval))
    }

    private mutating func due(_ circumstances: Circumstances, _ turn: inout Turn) -> Outcome {
        guard turn.now >= due else { return .nothing }
        switch step {
        case .waiting:
            start(circumstances, &turn)
        case .probing(let deadline):
            switch turn.spec.fairness.passage(of: deadline, at: turn.now) {
            case .ahead: break
            case .passed:
                turn.perform(.cancelLivenessProbe)
                failed(.noAnswer, circumstances, &turn)
            case .overslept(let lateness):
                turn.announce(probe: .overslept(by: lateness))
                startOver(circumstances, &turn)
            }
        case .judging:
            let terms = terms(circumstances, turn)
            return judge(nil, circumstances, &turn) { $0.due(at: $1.now, terms, &$1.numbers) }
        }
        return .nothing
    }

    mutating func ended(_ result: ProbeResult, _ circumstances: Circumstances, _ turn: inout Turn) -> Outcome {
        guard isProbing else { return .nothing }
        switch result {
        case .answered: return answered(&turn)
        case .failed(let reason): failed(.failed(reason), circumstances, &turn)
        case .impossible(let reason):
            if !isImpossible { turn.announce(probe: .impossible(reason)) }
            isImpossible = true
            schedule(turn)
        }
        return .nothing
    }

    /// How long the latest probe has been running.
    func latency(at now: Instant) -> Duration? { isProbing ? now - startedAt : nil }

    private mutating func answered(_ turn: inout Turn) -> Outcome {
        guard turn.life == .running else { return .ready }
        var outcome = Outcome.nothing
        if let failures, isDecided {
            outcome = .hung(turn.now - failures.since - paused)
        } else if let failures {
            turn.announce(probe: .recovered(failures: failures.missed.count))
        }
        failures = nil
        isImpossible = false
        paused = .zero
        rebases = 0
        serverStoppedSince = nil
        schedule(turn)
        return outcome
    }

    private mutating func failed(
        _ failure: MissedProbes.Failure, _ circumstances: Circumstances, _ turn: inout Turn
    ) {
        schedule(turn)
        guard let probe = turn.spec.livenessProbe, turn.life == .running else { return }
        turn.measurement = .failedProbe
        let before = failures
        let missed = MissedProbes(
            target: probe.target, count: (before?.missed.count ?? 0) + 1, last: failure,
            lastDuration: turn.now - startedAt)
        let since = before?.since ?? startedAt
        failures = Failures(missed: missed, since: since, judgement: before?.judgement)
        isImpossible = false
        guard !isDecided else { return }
        turn.announce(probe: .failed(missed))
        var judgement = before?.judgement ?? Judgement(.sceneUpdate, from: since, allowance: probe.allowance)
        let sparedUntil = max(before?.judgement?.deadline ?? turn.now, circumstances.graceEnd ?? turn.now)
        guard missed.count >= probe.threshold, !circumstances.isInIncident, turn.now >= sparedUntil else { return }
        judgement.move(to: turn.now)
        if case .inspect(let id) = judgement.examine(at: turn.now, &turn.numbers) { turn.perform(.inspect(id: id)) }
        failures?.judgement = judgement
        step = .judging
    }

    // MARK: - Judgement

    /// The terms for failures: somebody will release a debugger or freezer, so these excuse without limit.
    ///
    /// Nobody may ever end a stop, so it excuses only as long as an answer may take. When a pause discovered late ends,
    /// nothing remains; the failures are forgotten instead. The same goes for another process than the main one that should
    /// answer; its state is only seen by examinations.
    private func terms(_ circumstances: Circumstances, _ turn: Turn) -> Terms {
        var terms = Terms(turn.spec.fairness)
        terms.recovery = .zero
        terms.stopExcuseEnd =
            circumstances.stopExcuseEnd ?? serverStoppedSince.map { $0 + turn.spec.allowances.update }
        terms.concernsServer = true
        return terms
    }

    private mutating func inspected(
        _ id: Int, _ evidence: Evidence, _ circumstances: Circumstances, _ turn: inout Turn
    ) -> Outcome {
        if evidence.pause == nil {
            serverStoppedSince = evidence.serverPause == .stopped ? serverStoppedSince ?? turn.now : nil
        }
        var terms = terms(circumstances, turn)
        if evidence.probedPause != nil { terms.runDelay = .zero }
        return judge(evidence, circumstances, &turn) { judgement, turn in
            // Credit counts from the answer.
            judgement.move(to: turn.now)
            return judgement.inspected(id, evidence, at: turn.now, terms)
        }
    }

    private mutating func judge(
        _ evidence: Evidence?, _ circumstances: Circumstances, _ turn: inout Turn,
        _ event: (inout Judgement, inout Turn) -> Judgement.Step
    ) -> Outcome {
        guard var judgement = failures?.judgement else { return .nothing }
        let result = event(&judgement, &turn)
        failures?.judgement = judgement
        switch result {
        case .nothing, .overslept: break
        case .inspect(let id): turn.perform(.inspect(id: id))
        case .paused(let pause): turn.announce(probe: .paused(pause))
        case .resumed(let duration, _):
            // The process is still stopped, although that is no longer an excuse.
            guard evidence?.probedPause == nil else {
                return decided(judgement, standing: duration, circumstances, turn)
            }
            turn.announce(probe: .resumed(after: duration))
            paused += duration
            failures = nil
            start(circumstances, &turn)
        case .credited(let credit):
            schedule(turn)
            turn.announce(probe: .credited(credit))
        case .decided: return decided(judgement, standing: .zero, circumstances, turn)
        }
        return .nothing
    }

    private mutating func decided(
        _ judgement: Judgement, standing: Duration, _ circumstances: Circumstances, _ turn: Turn
    ) -> Outcome {
        guard let missed = failures?.missed else { return .nothing }
        schedule(turn)
        var basis = judgement.with(
            windowStart: circumstances.window ?? windowStart, paused: paused + standing, rebases: rebases)
        basis.move(to: min(turn.now, startedAt + missed.lastDuration))
        return .decided(missed, basis)
    }

    // MARK: - Events of the process

    mutating func handle(_ event: WatchEvent, _ circumstances: Circumstances, _ turn: inout Turn) -> Outcome {
        switch event {
        case .due: return due(circumstances, &turn)
        case .inspected(let id, let evidence): return inspected(id, evidence, circumstances, &turn)
        case .stopped:
            guard isExamining, circumstances.stopExcuseEnd.map({ turn.now < $0 }) ?? true else { break }
            let terms = terms(circumstances, turn)
            _ = judge(nil, circumstances, &turn) { $0.stopped(at: $1.now, terms) }
        case .continued: continued(circumstances, &turn)
        case .machineResumed:
            if isProbing || isExamining { startOver(circumstances, &turn) }
        case .captureEnded:
            // Answers were accepted during the capture, but evidence was not.
            if case .probing(let deadline) = step { step = .probing(deadline: max(deadline, turn.now)) }
            if isExamining { _ = judge(nil, circumstances, &turn) { $0.examine(at: $1.now, &$1.numbers) } }
        case .returned where isProbing || isExamining:
            failures?.judgement?.dropExamination()
            step = .waiting(until: turn.now)
        case .returned: failures?.judgement?.hasten(at: turn.now)
        }
        return .nothing
    }

    /// Forgets failures from while the process was stopped, which say nothing about the running process.
    private mutating func continued(_ circumstances: Circumstances, _ turn: inout Turn) {
        guard turn.life == .running, !isDecided else { return }
        switch step {
        case .waiting:
            failures = nil
        case .judging where !isExamining:
            _ = judge(nil, circumstances, &turn) { $0.continued(at: $1.now) }
        case .probing, .judging:
            failures = nil
            start(circumstances, &turn)
        }
    }

    /// Handles a freeze: the app is probed when it runs again, without its earlier failures.
    mutating func suspend(_ turn: inout Turn) {
        cancel(&turn)
        if !isDecided { failures = nil }
        step = .waiting(until: turn.now)
    }
}

extension ProbeWatch {
    init(_ saved: SavedProbes) {
        step =
            switch saved.step {
            case .waiting(let until): .waiting(until: until)
            case .probing(let deadline): .probing(deadline: deadline)
            case .judging: .judging
            }
        startedAt = saved.startedAt
        windowStart = saved.windowStart
        failures = saved.failures.map {
            Failures(missed: $0.missed, since: $0.since, judgement: $0.judgement.map { Judgement($0) })
        }
        paused = saved.paused
        rebases = saved.rebases
        isImpossible = saved.isImpossible
    }

    var saved: SavedProbes {
        let step: SavedProbes.Step =
            switch step {
            case .waiting(let until): .waiting(until: until)
            case .probing(let deadline): .probing(deadline: deadline)
            case .judging: .judging
            }
        return SavedProbes(
            step: step, startedAt: startedAt, windowStart: windowStart,
            failures: failures.map { .init(missed: $0.missed, since: $0.since, judgement: $0.judgement?.saved) },
            paused: paused, rebases: rebases, isImpossible: isImpossible)
    }
}

/// What liveness probes report.
public enum ProbeNotice: Hashable, Sendable {
    /// A probe failed, perhaps after others.
    case failed(MissedProbes)
    /// The app answers again after this many failures, too few for an incident.
    case recovered(failures: Int)
    /// The supervisor cannot probe, for this reason; reported once until it can again.
    case impossible(String)
    /// The supervisor overslept the end of a probe by this much; the probe is repeated.
    case overslept(by: Duration)
    /// The main thread waited for a CPU: failures have no consequence for this long.
    case credited(Duration)
    /// The process is stopped, frozen or traced by somebody else, so that probing it is pointless.
    case paused(Pause)
    /// The process runs again, and its failures are counted from zero.
    case resumed(after: Duration)
}
