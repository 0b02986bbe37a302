// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

/// Drives one machine on virtual time that starts with its launch.
///
/// Deadlines are delivered as the machine asks for them, after everything else of the same instant, and what it asks of
/// the world is answered as the properties say; nil means never.
struct Timeline {
    struct Entry: Equatable {
        let at: Duration
        let effect: ProcessEffect
    }

    /// Deadlines and answers in one stretch of time; more of them are taken for a machine that makes no progress.
    private static let patience = 10_000

    private static let origin = Instant(nanoseconds: 1_000_000_000_000)

    private(set) var machine: ProcessMachine
    private(set) var elapsed = Duration.zero
    private(set) var log: [Entry] = []
    private var agenda: [(at: Duration, event: ProcessEvent)] = []
    private var openTasks: [UInt64] = []
    private var isExited = false

    /// Whether the process can be started.
    var isSpawnable = true
    /// What an examination of the process shows.
    var evidence: Evidence? = Evidence(state: "S")
    /// From the request for an examination to the answer.
    var inspectionTime: Duration = .zero
    /// From a ping to its answer.
    var pongTime: Duration?
    /// From the request for the stacks to the answer.
    var captureTime: Duration? = .milliseconds(3)
    /// From SIGTERM to the end of all that the main process left behind.
    var leftoverTime: Duration? = .milliseconds(1)
    /// From SIGKILL to the death of the whole tree.
    var deathTime: Duration? = .milliseconds(1)
    /// What a readiness probe finds.
    var probeResult: Bool?
    /// From the start of a liveness probe to its end; nil when it does not end by itself.
    var livenessTime: Duration? = .zero
    /// How a liveness probe ends.
    var livenessResult = ProbeResult.answered
    /// From a request to move to the answer.
    var stateTime: Duration?
    /// From an event to the answer.
    var eventTime: Duration?
    /// From the request to end the tasks to the end of all of them.
    var handlerTime: Duration?
    /// From the request to freeze to the answer.
    var freezeTime: Duration? = .zero
    /// What is locked when the app is frozen.
    var locks: [LockedFile] = []
    /// What the app has used, if that is known.
    var use: ResourceUse?
    /// CPUs that the app keeps busy from its launch on.
    var load = 0.0
    /// What is added to the time at which a deadline is delivered: the supervisor's own sleep.
    var lateness: Duration = .zero

    init(_ spec: AppSpec = AppSpec(name: "App"), isLaunched: Bool = true) {
        machine = ProcessMachine(spec: spec)
        if isLaunched { tell(.launchRequested) }
    }

    /// A machine whose app said hello and was ready at once, so that the first ping is out at zero.
    static func pinging(_ spec: AppSpec = AppSpec(name: "App")) -> Timeline {
        var life = Timeline(spec)
        life.tell(.hello, .ready(.channel))
        return life
    }

    /// A machine whose app was ready at once and pushed for the first time at zero.
    static func pushing(_ spec: AppSpec = AppSpec(name: "App"), every interval: Duration? = nil) -> Timeline {
        var life = Timeline(spec)
        life.tell(.ready(.notify))
        life.tell(interval.map { .watchdogIntervalChanged($0) } ?? .watchdogPinged)
        return life
    }

    /// Goes on with another machine, as after the supervisor's restart.
    mutating func replace(_ machine: ProcessMachine) {
        self.machine = machine
    }

    // MARK: - Time

    var now: Instant { Self.origin + elapsed }

    var nextDeadline: Duration? { machine.nextDeadline.map { $0 - Self.origin } }

    /// Tells the machine something now.
    mutating func tell(_ events: ProcessEvent...) {
        for event in events { deliver(event) }
    }

    /// Lets time pass until `time` and then tells the machine something, before the deadlines of that instant.
    mutating func at(_ time: Duration, _ events: ProcessEvent...) {
        advance(to: time, deliversLast: false)
        for event in events { deliver(event) }
    }

    /// Lets time pass, the deadlines of `time` included.
    mutating func run(to time: Duration) {
        advance(to: time, deliversLast: true)
    }

    /// Tells the machine something at `time` as the first thing since the last event: the supervisor slept until then.
    mutating func oversleep(to time: Duration, _ events: ProcessEvent...) {
        elapsed = time
        for event in events { deliver(event) }
    }

    private mutating func advance(to end: Duration, deliversLast: Bool) {
        for _ in 0..<Self.patience {
            let due = nextDeadline.map { $0 + lateness }
            if let next = agenda.map(\.at).min(), next <= end, due.map({ next <= $0 }) ?? true,
                let index = agenda.firstIndex(where: { $0.at == next })
            {
                elapsed = max(elapsed, next)
                deliver(agenda.remove(at: index).event)
            } else if let due, due < end || (deliversLast && due == end) {
                elapsed = max(elapsed, due)
                deliver(.deadlineReached)
            } else {
                elapsed = max(elapsed, end)
                return
            }
        }
        Issue.record("no way past \(elapsed) in \(machine.phase)")
        elapsed = max(elapsed, end)
    }

    // MARK: - The world

    private mutating func deliver(_ event: ProcessEvent) {
        if case .exited = event { isExited = true }
        if case .lifecycle(.taskBegan(let id, _)) = event { openTasks.append(id) }
        let effects = machine.handle(event, at: now)
        log += effects.map { Entry(at: elapsed, effect: $0) }
        for effect in effects { answer(effect) }
    }

    private mutating func answer(_ effect: ProcessEffect) {
        switch effect {
        case .spawn:
            if isSpawnable { deliver(.spawned(pid: 100)) }
        case .sendPing(let nonce):
            if let pongTime { agenda.append((elapsed + pongTime, .ponged(nonce: nonce))) }
        case .probe:
            if let probeResult { deliver(.probed(isReady: probeResult)) }
        case .probeLiveness(let id):
            if let livenessTime { agenda.append((elapsed + livenessTime, .livenessProbed(id: id, livenessResult))) }
        case .cancelLivenessProbe:
            agenda.removeAll { if case .livenessProbed = $0.event { true } else { false } }
        case .inspect(let id):
            guard let evidence else { return }
            if inspectionTime == .zero {
                deliver(.inspected(id: id, evidence))
            } else {
                agenda.append((elapsed + inspectionTime, .inspected(id: id, evidence)))
            }
        case .capture:
            if let captureTime { agenda.append((elapsed + captureTime, .captured)) }
        case .terminateTree:
            if let leftoverTime { agenda.append((elapsed + leftoverTime, .treeEmptied)) }
        case .killTree:
            guard let deathTime else { return }
            if !isExited { agenda.append((elapsed + deathTime, .exited(.signaled(signal: 9, coreDumped: false)))) }
            agenda.append((elapsed + deathTime, .treeEmptied))
        case .lifecycle(let effect): answer(effect)
        case .beginWindow, .observe, .endObservation, .terminate, .report, .announce, .finish:
            break
        }
    }

    private mutating func answer(_ effect: LifecycleEffect) {
        switch effect {
        case .enter(_, let id, _): reply(.stateDone(id), after: stateTime)
        case .deliver(_, _, let id): reply(.eventDone(id), after: eventTime)
        case .freeze: reply(.froze(locks: locks), after: freezeTime)
        case .measure:
            if load > 0 { use = ResourceUse(cpuTime: elapsed * load) }
            if let use { deliver(.lifecycle(.measured(use))) }
        case .expire:
            for id in openTasks { reply(.taskEnded(id: id), after: handlerTime) }
        case .grant, .thaw: break
        }
    }

    private mutating func reply(_ event: LifecycleEvent, after time: Duration?) {
        guard let time else { return }
        if time == .zero {
            deliver(.lifecycle(event))
        } else {
            agenda.append((elapsed + time, .lifecycle(event)))
        }
    }

    // MARK: - What came of it

    /// The id of the latest examination; zero before the first.
    var examination: Int {
        log.reversed().lazy.compactMap { if case .inspect(let id) = $0.effect { id } else { nil } }.first ?? 0
    }

    /// The answer to the latest examination.
    func inspected(_ evidence: Evidence) -> ProcessEvent { .inspected(id: examination, evidence) }

    /// The incidents in the order of their decisions, with the time from the launch to the decision.
    var transgressions: [Entry] {
        log.filter { if case .announce(.transgressed) = $0.effect { true } else { false } }
    }

    var incidents: [Incident] {
        log.compactMap { if case .announce(.transgressed(let incident)) = $0.effect { incident } else { nil } }
    }

    var reports: [Incident] {
        log.compactMap { if case .report(let incident) = $0.effect { incident } else { nil } }
    }

    var notices: [Notice] {
        log.compactMap { if case .announce(let notice) = $0.effect { notice } else { nil } }
    }

    var effects: [ProcessEffect] { log.map(\.effect) }

    var nonces: [UInt64] {
        log.compactMap { if case .sendPing(let nonce) = $0.effect { nonce } else { nil } }
    }

    var outcome: Outcome? {
        if case .ended(let outcome) = machine.phase { outcome } else { nil }
    }

    /// When the decisions for an incident fell.
    var decisionTimes: [Duration] { transgressions.map(\.at) }

    /// When a notice was given for the first time.
    func time(of notice: Notice) -> Duration? {
        log.first { $0.effect == .announce(notice) }?.at
    }

    /// When liveness probes began.
    var probeTimes: [Duration] {
        log.filter { if case .probeLiveness = $0.effect { true } else { false } }.map(\.at)
    }

    /// When pings were sent.
    var pingTimes: [Duration] {
        log.filter { if case .sendPing = $0.effect { true } else { false } }.map(\.at)
    }
}

extension ProcessMachine {
    /// Continues where another machine was, by way of what is saved of it.
    init?(resuming machine: ProcessMachine, pulse: Pulse? = nil) {
        self.init(resuming: machine.saved, pulse: pulse)
    }
}

extension Duration {
    static let nanosecond = Duration.nanoseconds(1)

    static func minutes(_ count: Int) -> Duration { .seconds(60 * count) }
}

extension AppSpec {
    /// A spec of which only what matters for a test is said.
    static func app(_ change: (inout AppSpec) -> Void) -> AppSpec {
        var spec = AppSpec(name: "App")
        change(&spec)
        return spec
    }

    /// Everything but the kill.
    static let reporting = AppSpec(name: "App", enforcement: .report)
}
