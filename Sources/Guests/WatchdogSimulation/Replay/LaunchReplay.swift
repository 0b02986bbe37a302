// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

/// Replays one recorded launch to the shipped ``ProcessMachine`` on virtual time, and answers as the app did.
///
/// The replay makes no decisions: the machine decides which allowance is exhausted. The machine only reports and does
/// not kill, so that the rest of the launch is judged, too.
struct LaunchReplay {
    struct Result {
        var incidents: [Incident] = []
        var credits = 0
    }

    /// The divisor for the initial part of an allowance in which no evidence is read, as in the shell.
    private static let windowShare = 8
    /// The limit of steps: a damaged trace could keep the machine busy forever.
    static let stepLimit = 50_000_000

    /// The instant of the trace's start: not zero, which is invalid, and a whole second, so that common ticks are
    /// unchanged.
    static let origin = Instant(nanoseconds: 1_000_000_000)

    private let launch: RecordedLaunch
    private let spec: AppSpec
    private var machine: ProcessMachine
    private var now: Duration
    private var due: Instant?
    private var canWait = false
    private var answers: [(at: Duration, event: ProcessEvent)] = []
    private var windowStart: Duration
    private var nextProbe = 0
    private var steps = 0
    private var result = Result()

    /// Replays a launch; nil if it takes more than ``stepLimit`` steps.
    static func result(of launch: RecordedLaunch, under spec: AppSpec) -> Result? {
        var replay = LaunchReplay(launch, spec)
        return replay.play() ? replay.result : nil
    }

    private init(_ launch: RecordedLaunch, _ spec: AppSpec) {
        self.launch = launch
        var spec = spec
        spec.enforcement = .report
        // Observations from outside do not change decisions, and would only slow down the replay.
        spec.observationDelay = nil
        spec.readiness = ReplayReadiness(spec, launch).readiness
        if launch.probes.isEmpty, spec.readiness != .probe { spec.livenessProbe = nil }
        self.spec = spec
        machine = ProcessMachine(spec: spec, nonceSeed: 1)
        now = launch.start
        windowStart = launch.start
    }

    // MARK: - Time

    private mutating func play() -> Bool {
        var index = 0
        while steps < Self.stepLimit {
            let event = index < launch.inputs.count ? launch.inputs[index] : nil
            let answer = answers.indices.min { answers[$0].at < answers[$1].at }
            let deadline = nextDeadline
            let next = [event?.at, answer.map { answers[$0].at }, deadline].compactMap(\.self).min()
            // Nothing is known after the end of the trace.
            guard let next, next <= launch.end else { return true }
            // The recorded exit was the consequence of a deadline, so the deadline comes first, even if the replay's is
            // slightly later.
            if launch.isKilled, event?.isExit == true, event?.at == next, let deadline,
                deadline <= next + Answers.tolerance
            {
                now = max(now, deadline)
                step(.deadlineReached)
                continue
            }
            now = max(now, next)
            // As in a real wake-up, handle events before deadlines.
            if let event, event.at <= next {
                index += 1
                for event in events(of: event.kind) { step(event) }
            } else if let answer, answers[answer].at <= next {
                step(answers.remove(at: answer).event)
            } else {
                step(.deadlineReached)
            }
        }
        return false
    }

    /// The time of the machine's next call, since the start of the trace.
    private var nextDeadline: Duration? {
        guard let due else { return nil }
        var at = max(now, due - Self.origin)
        if canWait {
            let sending = launch.pings.sending(dueAt: at)
            guard isSparse else {
                // Limit the delay: a later deadline must not count as overslept.
                at = min(sending ?? at, at + spec.fairness.oversleep / 2)
                return postponed(at)
            }
            guard let sending else { return nil }
            at = sending
        }
        return postponed(at)
    }

    /// Whether only pings are due while the app is healthy, so that the time between two recorded pings can be skipped.
    private var isSparse: Bool { spec.livenessProbe == nil && !launch.isBusy }

    /// Delays a deadline that watchdogd overslept in the recording.
    private func postponed(_ at: Duration) -> Duration {
        launch.absences.first { $0.start <= at && at < $0.end }?.end ?? at
    }

    // MARK: - Events in, effects out

    private mutating func step(_ event: ProcessEvent) {
        var events = [event]
        while !events.isEmpty {
            steps += 1
            let step = machine.step(events.removeFirst(), at: Self.origin + now)
            (due, canWait) = (step.nextDeadline, step.canWait)
            for effect in step.effects { events += perform(effect) }
        }
    }

    private func events(of kind: TraceEvent.Kind) -> [ProcessEvent] {
        switch kind {
        case .launched: [.launchRequested]
        case .adopted: [.adopted(pid: 2)]
        case .hello: [.hello]
        case .joined: [.lifecycle(.joined)]
        case .notified: [.notified]
        case .ready(.channel): [.ready(.channel)]
        case .ready(.notify): [.ready(.notify)]
        case .ready(.probe), .ready(.exec), .ready(.assumed): []
        case .pushed: [.watchdogPinged]
        case .pushIntervalChanged(let interval): [.watchdogIntervalChanged(interval)]
        case .triggered: [.watchdogTriggered]
        case .extensionRequested(let span, let progress): [.extensionRequested(by: span, progress: progress)]
        case .stopped: [.stopped]
        case .continued: [.continued]
        case .machineResumed(let suspension): [.machineResumed(suspension: suspension)]
        case .requested(let request): [.lifecycle(.requested(request))]
        case .taskBegan(let id, let name): [.lifecycle(.taskBegan(id: id, name: name))]
        case .taskEnded(let id): [.lifecycle(.taskEnded(id: id))]
        case .terminating(let isRequested): [isRequested ? .terminateRequested : .stopping]
        case .exited(let status): [.exited(status)]
        case .answered, .unanswered, .probed, .paused, .resumed, .overslept, .used, .examined, .incident: []
        }
    }

    private mutating func perform(_ effect: ProcessEffect) -> [ProcessEvent] {
        switch effect {
        case .spawn: return [.spawned(pid: 2)]
        // The shell reads the counters a little later, so that a healthy app usually answers before.
        case .beginWindow: windowStart = now + (machine.pulse?.allowance ?? .zero) / Self.windowShare
        case .sendPing(let nonce):
            // The machine pings an adopted app to find out whether it answers; an app without a recorded answer stays
            // silent.
            guard launch.answersPings || launch.saysHello else { break }
            expect(.ponged(nonce: nonce), .ping, within: isSparse ? .zero : spec.pingInterval / 2)
        case .probe:
            if let ready = launch.ready, ready.source == .probe { answers.append((ready.at, .probed(isReady: true))) }
        case .probeLiveness(let id): probe(id)
        case .cancelLivenessProbe:
            answers.removeAll { if case .livenessProbed = $0.event { true } else { false } }
        case .inspect(let id): return [.inspected(id: id, launch.evidence(from: windowStart, to: now))]
        case .capture(let incident):
            result.incidents.append(incident)
            return [.captured]
        case .terminateTree, .killTree: return [.treeEmptied]
        case .lifecycle(let effect): return perform(effect)
        case .announce(.starvationCredit): result.credits += 1
        case .observe, .endObservation, .terminate, .report, .announce, .finish: break
        }
        return []
    }

    private mutating func perform(_ effect: LifecycleEffect) -> [ProcessEvent] {
        switch effect {
        case .enter(let visibility, let id, _):
            expect(
                .lifecycle(.stateDone(id)), visibility == .foreground ? .foreground : .background, within: .seconds(1))
        case .deliver(_, _, _, let id): expect(.lifecycle(.eventDone(id)), .event, within: .seconds(1))
        case .freeze: return [.lifecycle(.froze(locks: []))]
        case .measure:
            let use = launch.use(at: now)
            return [.lifecycle(.measured(ResourceUse(cpuTime: use.cpu, runDelay: use.waiting)))]
        case .grant, .expire, .thaw: break
        }
        return []
    }

    private mutating func expect(_ event: ProcessEvent, _ question: TraceEvent.Question, within patience: Duration) {
        let answers = question == .ping ? launch.pings : launch.questions[question] ?? Answers()
        if let at = answers.answer(at: now, within: patience) { self.answers.append((at, event)) }
    }

    /// Answers a probe with the result of the matching recorded one; without one, it succeeds immediately.
    private mutating func probe(_ id: Int) {
        let interval = spec.livenessProbe?.interval ?? .seconds(1)
        if case .launching = machine.phase {
            if let ready = launch.ready { answers.append((max(now, ready.at), .livenessProbed(id: id, .answered))) }
            return
        }
        let probes = launch.probes.all
        while nextProbe < probes.count, probes[nextProbe].sent < now - interval { nextProbe += 1 }
        guard nextProbe < probes.count, probes[nextProbe].sent <= now + interval / 2 else {
            return answers.append((now, .livenessProbed(id: id, .answered)))
        }
        let probe = probes[nextProbe]
        nextProbe += 1
        if let latency = probe.latency {
            answers.append((now + latency, .livenessProbed(id: id, probe.result ?? .answered)))
        }
    }
}

/// How a recorded launch reports readiness to the machine.
struct ReplayReadiness {
    /// The setting for the machine.
    let readiness: Readiness
    /// Whether the app file's own setting cannot be judged, because the recorded launch became ready in another way.
    let isOverridden: Bool

    init(_ spec: AppSpec, _ launch: RecordedLaunch) {
        let (configured, source) = (spec.readiness, launch.ready?.source)
        switch (configured, source) {
        case (.automatic, .probe?) where spec.livenessProbe != nil: (readiness, isOverridden) = (.probe, false)
        case (_, nil), (.automatic, .channel?), (.automatic, .notify?), (.automatic, .assumed?), (.channel, .channel?),
            (.notify, .notify?), (.listening, .probe?), (.command, .probe?), (.probe, .probe?), (.none, _):
            (readiness, isOverridden) = (configured, false)
        case (_, .channel?): (readiness, isOverridden) = (.channel, true)
        case (_, .notify?): (readiness, isOverridden) = (.notify, true)
        case (_, .probe?): (readiness, isOverridden) = (.listening, true)
        case (_, .exec?): (readiness, isOverridden) = (.none, true)
        case (_, .assumed?): (readiness, isOverridden) = (.automatic, true)
        }
    }
}
