// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy

/// Drives one machine on virtual time that starts with its launch.
///
/// Deadlines are delivered as the machine requests them, after all other events of the instant. Requests are answered
/// as the properties specify; nil means never.
struct Timeline {
    struct Entry: Equatable {
        let at: Duration
        let effect: ProcessEffect
    }

    /// The most deadlines and answers in one stretch of time; more of them mean that the machine makes no progress.
    private static let patience = 10_000

    private static let origin = Instant(nanoseconds: 1_000_000_000_000)

    private(set) var machine: ProcessMachine
    private(set) var elapsed = Duration.zero
    private(set) var log: [Entry] = []
    private var agenda: [(at: Duration, event: ProcessEvent)] = []
    private var openTasks: [UInt64] = []
    private var isExited = false

    var isSpawnable = true
    /// The evidence of every examination.
    var evidence: Evidence? = Evidence(state: "S")
    /// The time from the request for an examination to its answer.
    var inspectionTime: Duration = .zero
    /// The time from a ping to its answer.
    var pongTime: Duration?
    /// The time from the request for the stacks to the answer.
    var captureTime: Duration? = .milliseconds(3)
    /// The time from SIGTERM to the exit of all leftover processes.
    var leftoverTime: Duration? = .milliseconds(1)
    /// The time from SIGKILL to the death of the whole tree.
    var deathTime: Duration? = .milliseconds(1)
    /// The result of a readiness probe.
    var probeResult: Bool?
    /// The time from the start of a liveness probe to its end; nil if it does not end by itself.
    var livenessTime: Duration? = .zero
    /// The result of a liveness probe.
    var livenessResult = ProbeResult.answered
    /// The time from a state request to its answer.
    var stateTime: Duration?
    /// The time from an event to its answer.
    var eventTime: Duration?
    /// The time from the expiration of the tasks to the end of all of them.
    var handlerTime: Duration?
    /// The time from a freeze request to its answer.
    var freezeTime: Duration? = .zero
    /// The files locked when the app is frozen.
    var locks: [LockedFile] = []
    /// The app's resource use, if known.
    var use: ResourceUse?
    /// The number of CPUs that the app keeps busy from its launch on.
    var load = 0.0
    /// The delay of every deadline, as if the supervisor slept.
    var lateness: Duration = .zero

    init(_ spec: AppSpec = AppSpec(name: "App"), isLaunched: Bool = true) {
        machine = ProcessMachine(spec: spec)
        if isLaunched { tell(.launchRequested) }
    }

    /// A machine whose app sent hello and was ready immediately, so that the first ping is sent at zero.
    static func pinging(_ spec: AppSpec = AppSpec(name: "App")) -> Timeline {
        var life = Timeline(spec)
        life.tell(.hello, .ready(.channel))
        return life
    }

    /// A machine whose app was ready immediately and first pushed at zero.
    static func pushing(_ spec: AppSpec = AppSpec(name: "App"), every interval: Duration? = nil) -> Timeline {
        var life = Timeline(spec)
        life.tell(.ready(.notify))
        life.tell(interval.map { .watchdogIntervalChanged($0) } ?? .watchdogPinged)
        return life
    }

    /// Continues with another machine, as after a restart of the supervisor.
    mutating func replace(_ machine: ProcessMachine) {
        self.machine = machine
    }

    // MARK: - Time

    var now: Instant { Self.origin + elapsed }

    var nextDeadline: Duration? { machine.nextDeadline.map { $0 - Self.origin } }

    /// Sends events to the machine now.
    mutating func tell(_ events: ProcessEvent...) {
        for event in events { deliver(event) }
    }

    /// Advances to `time` and sends events, before the deadlines of that instant.
    mutating func at(_ time: Duration, _ events: ProcessEvent...) {
        advance(to: time, deliversLast: false)
        for event in events { deliver(event) }
    }

    /// Advances to `time`, including its deadlines.
    mutating func run(to time: Duration) {
        advance(to: time, deliversLast: true)
    }

    /// Sends events at `time`, before any missed deadline: the supervisor slept until then.
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
        case .deliver(_, _, _, let id): reply(.eventDone(id), after: eventTime)
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

    // MARK: - Results

    /// The id of the latest examination; zero before the first one.
    var examination: Int {
        log.reversed().lazy.compactMap { if case .inspect(let id) = $0.effect { id } else { nil } }.first ?? 0
    }

    /// The answer to the latest examination.
    func inspected(_ evidence: Evidence) -> ProcessEvent { .inspected(id: examination, evidence) }

    /// The incidents in decision order, with the time from the launch to the decision.
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

    /// The decision times of the incidents.
    var decisionTimes: [Duration] { transgressions.map(\.at) }

    /// When a notice first appeared.
    func time(of notice: Notice) -> Duration? {
        log.first { $0.effect == .announce(notice) }?.at
    }

    /// The start times of the liveness probes.
    var probeTimes: [Duration] {
        log.filter { if case .probeLiveness = $0.effect { true } else { false } }.map(\.at)
    }

    /// The times at which pings were sent.
    var pingTimes: [Duration] {
        log.filter { if case .sendPing = $0.effect { true } else { false } }.map(\.at)
    }
}

extension ProcessMachine {
    /// Resumes from the saved state of another machine.
    init?(resuming machine: ProcessMachine, pulse: Pulse? = nil) {
        self.init(resuming: machine.saved, pulse: pulse)
    }
}

extension Duration {
    static let nanosecond = Duration.nanoseconds(1)

    static func minutes(_ count: Int) -> Duration { .seconds(60 * count) }
}

extension AppSpec {
    /// A spec with only the given changes.
    static func app(_ change: (inout AppSpec) -> Void) -> AppSpec {
        var spec = AppSpec(name: "App")
        change(&spec)
        return spec
    }

    /// Does everything but kill.
    static let reporting = AppSpec(name: "App", enforcement: .report)
}
