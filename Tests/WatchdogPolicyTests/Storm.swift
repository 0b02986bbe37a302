// SPDX-License-Identifier: Apache-2.0

import TestSupport
import WatchdogBase
import WatchdogPolicy

/// One app's life under events of every kind, valid or not, with time steps around the deadlines.
///
/// A seed determines everything, so that a failing life can be replayed.
struct Storm {
    static let longestLife = 400

    var generator: SeededGenerator
    private let spec: AppSpec
    var machine: ProcessMachine
    var ledger: Ledger
    var memory: Memory
    var now = Instant(nanoseconds: 1_000_000_000_000)
    var usedNonces: [UInt64] = []
    /// The same app under observation, which must not change anything else.
    var twin: ProcessMachine
    private var isTwinObserving = false
    private var immediateObservations = 0
    private var immediateDeadlines = 0

    /// The number of events handled.
    var count = 0
    /// Every event with its effects, if requested.
    var trace: [(event: ProcessEvent, effects: [ProcessEffect], at: Instant)] = []

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        spec = Self.spec(using: &generator)
        let nonceSeed = generator.next()
        machine = ProcessMachine(spec: spec, nonceSeed: nonceSeed)
        var observed = spec
        observed.observationDelay = generator.pick([.nanoseconds(1), .milliseconds(250), .seconds(1), .seconds(30)])
        twin = ProcessMachine(spec: observed, nonceSeed: nonceSeed)
        ledger = Ledger(spec)
        memory = Memory(machine)
    }

    private static func spec(using generator: inout SeededGenerator) -> AppSpec {
        let allowances: [Duration] = [.nanoseconds(1), .milliseconds(50), .seconds(1), .seconds(5), .seconds(20)]
        var spec = AppSpec(
            name: "App",
            allowances: Allowances(
                launch: generator.pick(allowances), update: generator.pick(allowances),
                terminate: generator.pick(allowances)),
            pingInterval: generator.pick([.nanoseconds(1), .milliseconds(100), .seconds(1), .seconds(15)]),
            readiness: generator.pick([.automatic, .automatic, .channel, .notify, .listening, .command, .none]),
            probeInterval: generator.pick([.nanoseconds(1), .milliseconds(25), .seconds(1)]),
            enforcement: generator.oneIn(2) ? .kill : .report
        )
        if generator.oneIn(2) {
            spec.livenessProbe = LivenessProbe(
                of: "tcp:1", interval: generator.pick([.milliseconds(100), .seconds(1), .seconds(3)]),
                timeout: generator.pick([.nanoseconds(1), .milliseconds(50), .seconds(3), .seconds(10)]),
                threshold: 1 + generator.below(3)
            )
            if generator.oneIn(3) { spec.readiness = .probe }
            // Both are probed throughout the launch.
            if [.probe, .automatic].contains(spec.readiness) { spec.probeInterval = .seconds(1) }
        }
        spec.fairness.creditFloorPercent = generator.pick([0, 1, 50])
        spec.fairness.creditCapPercent = generator.pick([0, 100, 100])
        spec.fairness.pauseInterval = generator.pick([.nanoseconds(1), .milliseconds(250), .seconds(3)])
        spec.fairness.extensionCap = generator.pick([
            .zero, .milliseconds(300), spec.livenessProbe == nil ? .seconds(600) : .seconds(6),
        ])
        spec.fairness.allowsBlindExtension = generator.oneIn(4)
        spec.captureBudget = generator.pick([.zero, .milliseconds(50), .seconds(2)])
        spec.deathBudget = generator.pick([.zero, .seconds(2)])
        return spec
    }

    /// Lives until a few events after the exit.
    ///
    /// - Returns: the violation, or nil.
    mutating func play(tracing isTracing: Bool = false) -> String? {
        var afterwards = 0
        while count < Self.longestLife, afterwards < 4 {
            pass()
            if let complaint = step(event(), isTracing) { return complaint }
            if generator.oneIn(128), let complaint = restart(isTracing) { return "restarted: \(complaint)" }
            if case .ended = machine.phase { afterwards += 1 }
            if generator.oneIn(64), let complaint = ends() { return complaint }
        }
        return nil
    }

    mutating func step(_ event: ProcessEvent, _ isTracing: Bool) -> String? {
        let effects = machine.handle(event, at: now)
        count += 1
        if isTracing { trace.append((event, effects, now)) }
        for case .sendPing(let nonce) in effects { usedNonces.append(nonce) }
        return memory.save(&machine) ?? check(event, effects) ?? checkTwin(event, effects)
    }

    private mutating func check(_ event: ProcessEvent, _ effects: [ProcessEffect]) -> String? {
        if let complaint = ledger.book(event, effects, at: now) { return complaint }
        if let complaint = ledger.complaint(about: machine) { return complaint }
        guard case .deadlineReached = event, let next = machine.nextDeadline, next <= now else {
            immediateDeadlines = 0
            return nil
        }
        // Several deadlines may fall into one instant, but not endlessly many.
        immediateDeadlines += 1
        return immediateDeadlines > 4 ? "due again and again at \(now)" : nil
    }

    private mutating func checkTwin(_ event: ProcessEvent, _ effects: [ProcessEffect]) -> String? {
        var others: [ProcessEffect] = []
        for effect in twin.handle(event, at: now) {
            switch effect {
            case .observe:
                if isTwinObserving { return "observed twice" }
                isTwinObserving = true
            case .endObservation:
                if !isTwinObserving { return "let go of nothing" }
                isTwinObserving = false
            case .announce(.slow(let slowness)):
                if slowness.remaining <= .zero { return "slow after its deadline" }
            default: others.append(effect)
            }
        }
        guard others == effects else { return "observed, the app is treated differently: \(others)" }
        guard twin.phase == machine.phase else { return "observed, the app is in \(twin.phase)" }
        if case .ended = twin.phase, isTwinObserving { return "observed after the end" }
        switch (twin.nextDeadline, machine.nextDeadline) {
        case (nil, nil): return nil
        case (let observed?, let plain?):
            if observed > plain { return "observation puts a deadline off" }
            guard observed <= now, plain > now, case .deadlineReached = event else {
                immediateObservations = 0
                return nil
            }
            immediateObservations += 1
            return immediateObservations > 1 ? "observation is due again and again at \(now)" : nil
        default: return "observation makes or takes a deadline"
        }
    }

    // MARK: - Time and events

    mutating func pass() {
        let fate = generator.below(32)
        switch fate {
        case 0..<10: break
        case 10: now = now + .nanoseconds(1)
        case 11: now = now + .milliseconds(250)
        case 12...13: now = now + .nanoseconds(Int64(generator.below(300_000_000)))
        case 14: now = now + .nanoseconds(Int64(generator.below(12_000_000_000)))
        case 15: now = now + .nanoseconds(Int64(generator.below(700_000_000_000)))
        default:
            let deadline = generator.oneIn(2) ? twin.nextDeadline : machine.nextDeadline
            guard let due = deadline, due < Instant(nanoseconds: .max) - .seconds(100) else { return }
            let late: Duration =
                switch fate {
                case 16...18: .nanoseconds(-1)
                case 19...28: .zero
                case 29: .nanoseconds(1)
                case 30: .milliseconds(100)
                default: .milliseconds(100) + .nanoseconds(1)
                }
            now = max(now, due + late)
        }
    }

    private mutating func event() -> ProcessEvent {
        if let due = machine.nextDeadline, now >= due, !generator.oneIn(4) { return .deadlineReached }
        if !generator.oneIn(3), let answer = answer() { return answer }
        switch generator.below(48) {
        case 0...1: return .launchRequested
        case 2: return generator.oneIn(8) ? .spawned(pid: 8) : .notified
        case 3: return generator.oneIn(16) ? .spawnFailed : .notified
        case 4...6: return .hello
        case 7: return .notified
        case 8...10: return .ready(generator.pick([.channel, .notify, .probe, .exec]))
        case 11...12: return .probed(isReady: generator.oneIn(4))
        case 13...14: return .ponged(nonce: usedNonces.isEmpty ? 0 : generator.pick(usedNonces))
        case 15: return .livenessProbed(id: max(0, ledger.probes.lastID - generator.below(2)), probeResult())
        case 16: return .ponged(nonce: generator.next())
        case 17...19: return .watchdogPinged
        case 20: return .watchdogTriggered
        case 21: return .watchdogIntervalChanged(interval())
        case 22...25: return .extensionRequested(by: interval(), progress: generator.pick([nil, "1 %", "2 %", "3 %"]))
        case 26: return generator.oneIn(4) ? .stopping : .stopped
        case 27: return generator.oneIn(4) ? .terminateRequested : .stopped
        case 28...30: return .stopped
        case 31...33: return .continued
        case 34: return .machineResumed(suspension: interval())
        case 35...38: return .deadlineReached
        case 39...41: return .inspected(id: examination(), evidence())
        case 42...43: return .captured
        case 44: return generator.oneIn(4) ? .exited(.exited(code: 1)) : .hello
        case 45: return .treeEmptied
        case 46: return generator.oneIn(8) ? .channelLost : generator.oneIn(4) ? .adopted(pid: 9) : .notified
        default: return .ponged(nonce: usedNonces.last ?? 0)
        }
    }

    /// How the world would answer the machine's latest request.
    private mutating func answer() -> ProcessEvent? {
        if ledger.probes.isUnderWay, generator.oneIn(2) {
            return .livenessProbed(id: ledger.probes.lastID, probeResult())
        }
        switch machine.phase {
        case .idle:
            guard ledger.isSpawning else { return generator.oneIn(24) ? .adopted(pid: 9) : .launchRequested }
            return generator.oneIn(16) ? .spawnFailed : .spawned(pid: 7)
        case .capturing: return generator.oneIn(2) ? .captured : nil
        case .dying:
            if ledger.isLooking, !generator.oneIn(4) { return .inspected(id: examination(), evidence()) }
            return generator.oneIn(2) ? .exited(.unknown) : .treeEmptied
        case .launching:
            return generator.oneIn(8)
                ? .ready(.channel) : ledger.isLooking ? .inspected(id: examination(), evidence()) : nil
        case .running, .terminating:
            if ledger.isLooking, generator.oneIn(2) { return .inspected(id: examination(), evidence()) }
            return ledger.outstanding.last.map { .ponged(nonce: $0) }
        case .ended: return nil
        }
    }

    /// Usually a pending examination; sometimes an answered, void or nonexistent one.
    private mutating func examination() -> Int {
        guard !generator.oneIn(4), !ledger.examinations.isEmpty else {
            return generator.below(ledger.lastExamination + 2)
        }
        return generator.pick(ledger.examinations)
    }

    private mutating func probeResult() -> ProbeResult {
        generator.pick([.answered, .failed("connection refused"), .failed("HTTP status 503"), .impossible("EMFILE")])
    }

    private mutating func interval() -> Duration {
        switch generator.below(6) {
        case 0: .zero
        case 1: .nanoseconds(-1)
        case 2: .milliseconds(Int64(generator.below(400)))
        case 3: .nanoseconds(Int64(generator.below(30_000_000_000)))
        case 4: .seconds(Int64(generator.below(2_000)))
        default: .nanoseconds(Int64.max)
        }
    }

    private mutating func evidence() -> Evidence {
        Evidence(
            state: generator.pick(["S", "R", "D", "T", "t", nil]),
            tracer: generator.oneIn(8) ? 42 : nil,
            isFrozen: generator.oneIn(8),
            runDelay: generator.oneIn(2)
                ? .zero : .nanoseconds(Int64(generator.next() >> 1) >> Int64(generator.below(50))),
            serverPause: generator.pick([nil, nil, nil, .stopped, .traced(by: 43)])
        )
    }

    // MARK: - The end

    /// Checks for a way out of this state, with and without an answering world, and without a request if it kills.
    private func ends() -> String? {
        if case .ended = machine.phase { return nil }
        if let complaint = ends(isAnswered: true, isRequested: true) { return "with answers: \(complaint)" }
        if let complaint = ends(isAnswered: false, isRequested: true) { return "without answers: \(complaint)" }
        if spec.enforcement == .kill, let complaint = ends(isAnswered: true, isRequested: false) {
            return "without a request: \(complaint)"
        }
        return nil
    }

    private func ends(isAnswered: Bool, isRequested: Bool) -> String? {
        var drive = Drive(machine: machine, now: now, isAnswered: isAnswered, isSpawning: ledger.isSpawning)
        if isRequested {
            drive.tell(.terminateRequested)
            drive.tell(.terminateRequested)
        }
        // Probes continue during an extension, but no faster than their interval.
        let patience = spec.livenessProbe == nil ? 60 : 400
        for _ in 0..<patience {
            if case .ended(let outcome) = drive.machine.phase {
                guard outcome.isDeathVerified || !isAnswered else { return "the death is not verified" }
                // The ledger's open incidents are reported on the way.
                let pending = ledger.pendingReports + drive.decisions
                return drive.reports == pending ? nil : "\(drive.reports) reports of \(pending)"
            }
            guard let next = drive.machine.nextDeadline else {
                return isRequested ? "nothing leads out of \(drive.machine.phase)" : nil
            }
            drive.now = max(drive.now, next)
            drive.tell(.deadlineReached)
        }
        return "no end after \(patience) deadlines in \(drive.machine.phase)"
    }
}

/// Drives a copy of a machine to its end with nothing but deadlines, and perhaps answers.
private struct Drive {
    var machine: ProcessMachine
    var now: Instant
    let isAnswered: Bool
    var isSpawning: Bool
    var decisions = 0
    var reports = 0
    private var steps = 0

    init(machine: ProcessMachine, now: Instant, isAnswered: Bool, isSpawning: Bool) {
        self.machine = machine
        self.now = now
        self.isAnswered = isAnswered
        self.isSpawning = isSpawning
        if isSpawning { tell(.spawned(pid: 7)) }
        guard isAnswered else { return }
        // Requests from before this drive are answered first.
        switch machine.phase {
        case .capturing: tell(.captured)
        case .dying: die()
        case .idle, .launching, .running, .terminating, .ended: break
        }
    }

    mutating func tell(_ event: ProcessEvent) {
        // Answers cause requests: a machine that requests forever must not overflow the stack.
        steps += 1
        guard steps < 10_000 else { return }
        for effect in machine.handle(event, at: now) {
            switch effect {
            case .spawn: tell(.spawned(pid: 7))
            case .announce(.transgressed): decisions += 1
            case .report: reports += 1
            case .inspect(let id): if isAnswered { tell(.inspected(id: id, Evidence(state: "S"))) }
            case .capture: if isAnswered { tell(.captured) }
            case .terminateTree, .killTree: if isAnswered { die() }
            case .beginWindow, .observe, .endObservation, .sendPing, .probe, .probeLiveness,
                .cancelLivenessProbe, .terminate, .announce, .finish,
                .lifecycle:
                break
            }
        }
    }

    private mutating func die() {
        tell(.exited(.signaled(signal: 9, coreDumped: false)))
        tell(.treeEmptied)
    }
}
