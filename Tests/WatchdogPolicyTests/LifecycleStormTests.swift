// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogBase
import WatchdogPolicy

/// Requests of all kinds, valid or not, to apps that respond on time, late, wrongly or never.
private struct LifecycleStorm {
    private var generator: SeededGenerator
    private let spec: AppSpec
    private var machine: ProcessMachine
    private var memory: Storm.Memory
    private var isReturning = false
    private var now = Instant(nanoseconds: 1_000_000_000_000)
    private var statesSent: UInt64 = 0
    private var eventsSent: UInt64 = 0
    private var eventsAsked = 0
    private var eventsSettled = 0
    private var isFreezing = false
    /// Pending examinations.
    private var examinations: Set<Int> = []
    /// Whether an examination is pending, or the process was found to be traced.
    private var isLooking = false
    private var isFrozen = false
    private var decided = 0
    private var reported = 0
    private var immediateDeadlines = 0
    private var tasks: [UInt64] = []
    private var lastEffects: [ProcessEffect] = []
    private(set) var reached: Set<String> = []
    private(set) var count = 0
    private(set) var trace: [String] = []

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        var spec = AppSpec(
            name: "App", readiness: generator.oneIn(4) ? .none : .automatic,
            enforcement: generator.oneIn(2) ? .kill : .report)
        spec.lifecycle.idle = generator.pick([nil, .zero, .seconds(5)])
        spec.lifecycle.background = generator.pick([.nanoseconds(1), .seconds(4), .seconds(30)])
        spec.lifecycle.enterBackground = generator.pick([.milliseconds(1), .seconds(5)])
        spec.lifecycle.taskLimit = generator.pick([0, 3, 1_000])
        spec.lifecycle.launchesInBackground = generator.oneIn(4)
        spec.lifecycle.backgroundCPUTime = generator.pick([nil, .zero, .seconds(3)])
        spec.lifecycle.processorCount = generator.pick([0, 1, 64])
        self.spec = spec
        machine = ProcessMachine(spec: spec, nonceSeed: generator.next())
        memory = Storm.Memory(machine)
    }

    mutating func play() -> String? {
        var afterwards = 0
        while count < 300, afterwards < 3 {
            pass()
            let event = event()
            count += 1
            if let complaint = tell(event) { return complaint }
            if generator.oneIn(60), let complaint = restart() { return "restarted: \(complaint)" }
            if case .ended = machine.phase { afterwards += 1 }
            if generator.oneIn(40), let complaint = leadsOut() { return complaint }
        }
        return nil
    }

    // MARK: - The supervisor's own restart

    private mutating func restart() -> String? {
        let restored: ProcessMachine?
        do {
            restored = try memory.restored()
        } catch {
            return "\(error)"
        }
        guard let restored, restored.nextDeadline == ProcessMachine(resuming: machine)?.nextDeadline,
            restored.lifecycleState == machine.lifecycleState,
            restored.withoutPulse == ProcessMachine(resuming: machine)?.withoutPulse
        else { return "not what was saved" }
        machine = restored
        pass()
        isReturning = true
        defer { isReturning = false }
        return tell(.supervisorReturned(isLastStepDone: true))
    }

    // MARK: - Books

    private mutating func tell(_ event: ProcessEvent) -> String? {
        let effects = machine.handle(event, at: now)
        let complaint = memory.save(&machine)
        trace.append("\(now.nanoseconds) \(event) → \(effects)")
        lastEffects = effects
        if let complaint { return "\(complaint) after \(event)" }
        if case .lifecycle(.requested(.event)) = event { eventsAsked += 1 }
        if case .lifecycle(.froze) = event { isFreezing = false }
        if case .inspected(let id, let evidence) = event {
            if id == examinations.max(), evidence.tracer == nil { isLooking = false }
            examinations.remove(id)
        }
        for effect in effects {
            reached.insert(effect.summary)
            if let complaint = book(effect) { return "\(complaint) after \(event)" }
        }
        if let complaint = standing() { return "\(complaint) after \(event)" }
        guard case .deadlineReached = event, let next = machine.nextDeadline, next <= now else {
            immediateDeadlines = 0
            return nil
        }
        immediateDeadlines += 1
        return immediateDeadlines > 6 ? "due again and again" : nil
    }

    private mutating func book(_ effect: ProcessEffect) -> String? {
        switch effect {
        case .sendPing, .terminate, .probeLiveness:
            return isFrozen ? "\(effect.summary) to a frozen app" : nil
        case .inspect(let id):
            examinations.insert(id)
            isLooking = true
        case .capture(let incident):
            // A pending incident is repeated after a restart.
            if !isReturning { decided += 1 }
            if incident.decidedAt < incident.deadline { return "decided before the deadline" }
        case .report: reported += 1
        case .lifecycle(let effect):
            switch effect {
            case .enter(_, let id, _):
                guard isReturning ? id <= statesSent : id == statesSent + 1, !isFrozen else { return "state \(id)" }
                statesSent = max(statesSent, id)
            case .deliver(_, _, _, let id):
                guard id == eventsSent + 1, !isFrozen else { return "event \(id)" }
                eventsSent = id
                eventsSettled += 1
            case .freeze:
                guard !isFrozen || isReturning else { return "frozen twice" }
                isFrozen = true
                isFreezing = true
            case .thaw:
                guard isFrozen || isReturning else { return "thawed from nothing" }
                isFrozen = false
            case .grant, .expire:
                if isFrozen { return "\(effect.summary) to a frozen app" }
            case .measure: break
            }
        case .announce(.lifecycle(.refused(.event, _))): eventsSettled += 1
        case .terminateTree, .killTree, .finish: isFrozen = false
        case .spawn, .beginWindow, .observe, .endObservation, .probe, .cancelLivenessProbe, .announce: break
        }
        return nil
    }

    private func standing() -> String? {
        let state = machine.lifecycleState
        if state == .suspended, !isFrozen { return "suspended and not frozen" }
        if [.foreground, .background, .inactive].contains(state), isFrozen, !isFreezing { return "frozen in \(state)" }
        if state == .suspended, case .running = machine.phase, !isLooking, machine.nextDeadline != nil {
            return "a suspended app has a deadline"
        }
        if state == .inactive, case .running = machine.phase, machine.nextDeadline == nil, decided == reported,
            decided == 0
        {
            return "no way out of \(state)"
        }
        if machine.lifecycleRecord.openTasks.count > spec.lifecycle.taskLimit + 1 { return "too many tasks are kept" }
        if machine.lifecycleRecord.moments.count > 64 { return "too much history" }
        return nil
    }

    // MARK: - Time and events

    private mutating func pass() {
        switch generator.below(8) {
        case 0...2: break
        case 3: now = now + .nanoseconds(Int64(generator.below(2_000_000_000)))
        case 4: now = now + .nanoseconds(Int64(generator.below(40_000_000_000)))
        default:
            guard let due = machine.nextDeadline, due < Instant(nanoseconds: .max) - .seconds(100) else { return }
            now = max(now, due + generator.pick([.nanoseconds(-1), .zero, .zero, .milliseconds(99), .seconds(2)]))
        }
    }

    private mutating func event() -> ProcessEvent {
        if let due = machine.nextDeadline, now >= due, !generator.oneIn(4) { return .deadlineReached }
        if generator.oneIn(2), let answer = answer() { return answer }
        switch generator.below(34) {
        case 0...1: return .lifecycle(.joined)
        case 2: return .hello
        case 3...4: return .ready(.channel)
        case 5...7: return .lifecycle(.requested(.foreground))
        case 8...11: return .lifecycle(.requested(.background))
        case 12...14: return .lifecycle(.requested(.suspend))
        case 15...16: return .lifecycle(.requested(.resume))
        case 17...18: return .lifecycle(.requested(.event(kind: "e", payload: "p")))
        case 19: return .lifecycle(.stateDone(UInt64(generator.below(5))))
        case 20: return .lifecycle(.eventDone(UInt64(generator.below(5))))
        case 21...23:
            tasks.append(UInt64(generator.below(8)))
            return .lifecycle(.taskBegan(id: tasks[tasks.count - 1], name: "t"))
        case 24: return .lifecycle(.taskEnded(id: UInt64(generator.below(8))))
        case 25: return .lifecycle(.froze(locks: []))
        case 26: return .lifecycle(.measured(use()))
        case 27: return generator.pick([.stopped, .continued, .machineResumed(suspension: .seconds(5))])
        case 28: return generator.pick([.watchdogTriggered, .watchdogPinged, .notified])
        case 29:
            // Sorted, because the order of a set differs between processes, and a seed could not be replayed.
            let open = examinations.sorted().randomElement(using: &generator)
            return .inspected(id: open ?? generator.below(9), evidence())
        case 30: return .extensionRequested(by: .seconds(3), progress: "\(generator.below(9))")
        case 31: return generator.oneIn(4) ? .stopping : .deadlineReached
        case 32: return generator.oneIn(4) ? .terminateRequested : .deadlineReached
        default: return generator.oneIn(8) ? .exited(.exited(code: 0)) : .captured
        }
    }

    private mutating func use() -> ResourceUse {
        ResourceUse(
            cpuTime: .milliseconds(Int64(generator.below(60_000))),
            runDelay: .milliseconds(Int64(generator.below(60_000))))
    }

    private mutating func evidence() -> Evidence {
        Evidence(
            state: generator.pick(["S", "R", "T", nil]), tracer: generator.oneIn(8) ? 42 : nil,
            isFrozen: generator.oneIn(6), runDelay: .milliseconds(Int64(generator.below(200))))
    }

    private mutating func answer() -> ProcessEvent? {
        for effect in lastEffects.shuffled(using: &generator) {
            switch effect {
            case .spawn: return .spawned(pid: 7)
            case .sendPing(let nonce): return .ponged(nonce: nonce)
            case .inspect(let id): return .inspected(id: id, evidence())
            case .lifecycle(.enter(_, let id, _)): return .lifecycle(.stateDone(id))
            case .lifecycle(.deliver(_, _, _, let id)): return .lifecycle(.eventDone(id))
            case .lifecycle(.freeze):
                let lock = LockedFile(path: "/x", kind: .flock, isExclusive: true, process: 7)
                return .lifecycle(.froze(locks: generator.oneIn(3) ? [lock] : []))
            case .lifecycle(.measure): return .lifecycle(.measured(use()))
            case .lifecycle(.expire): return tasks.popLast().map { .lifecycle(.taskEnded(id: $0)) }
            default: continue
            }
        }
        switch machine.phase {
        case .idle: return .launchRequested
        case .capturing: return .captured
        case .dying: return generator.oneIn(2) ? .exited(.unknown) : .treeEmptied
        case .launching, .running, .terminating: return isFreezing ? .lifecycle(.froze(locks: [])) : nil
        case .ended: return nil
        }
    }

    // MARK: - Ways out

    /// Checks that every request is carried out or rejected from the current state, and that two termination requests
    /// end it.
    private func leadsOut() -> String? {
        if let complaint = reaches(.foreground, .foreground) { return complaint }
        if let complaint = reaches(.suspend, .suspended) { return complaint }
        return nil
    }

    private func reaches(_ request: LifecycleRequest, _ state: LifecycleState) -> String? {
        var copy = self
        switch machine.phase {
        case .idle, .ended, .dying, .terminating: return nil
        case .capturing(let incident): if incident.isEnforced { return nil }
        case .launching, .running: break
        }
        _ = copy.tell(.lifecycle(.requested(request)))
        for _ in 0..<200 {
            if let complaint = copy.cooperate() { return complaint }
            switch copy.machine.phase {
            case .idle, .ended, .dying: return nil
            case .launching: if let complaint = copy.tell(.ready(.channel)) { return complaint }
            case .terminating: return nil
            case .capturing, .running: break
            }
            if copy.machine.lifecycleState == state { return copy.ends() }
            guard let next = copy.machine.nextDeadline else {
                return "\(request) leads nowhere: \(copy.machine.lifecycleState)\n\(copy.trace.suffix(8))"
            }
            copy.now = max(copy.now, next)
            if let complaint = copy.tell(.deadlineReached) { return complaint }
        }
        return "\(request) is never carried out: \(copy.machine.lifecycleState)"
    }

    /// Answers every request correctly and immediately.
    private mutating func cooperate() -> String? {
        for _ in 0..<50 {
            var answers: [ProcessEvent] = []
            if isFreezing { answers.append(.lifecycle(.froze(locks: []))) }
            for id in examinations.sorted() { answers.append(.inspected(id: id, Evidence(state: "S"))) }
            if case .capturing = machine.phase { answers.append(.captured) }
            if machine.lifecycleState == .inactive { answers.append(.lifecycle(.stateDone(statesSent))) }
            answers += machine.lifecycleRecord.openTasks.prefix(1).map { .lifecycle(.taskEnded(id: $0.id)) }
            for case .sendPing(let nonce) in lastEffects { answers.append(.ponged(nonce: nonce)) }
            if machine.lifecycleRecord.takesPart, eventsSent > 0 { answers.append(.lifecycle(.eventDone(eventsSent))) }
            guard answers.contains(where: { if case .lifecycle(.eventDone) = $0 { false } else { true } }) else {
                return answers.isEmpty ? nil : tell(answers[0])
            }
            for answer in answers {
                if let complaint = tell(answer) { return complaint }
            }
        }
        return nil
    }

    private func ends() -> String? {
        var copy = self
        guard copy.eventsSettled <= copy.eventsAsked else { return "events out of nothing" }
        _ = copy.tell(.terminateRequested)
        _ = copy.tell(.terminateRequested)
        for _ in 0..<20 {
            switch copy.machine.phase {
            case .ended:
                return copy.decided == copy.reported ? nil : "\(copy.decided) incidents, \(copy.reported) reports"
            case .capturing: _ = copy.tell(.captured)
            case .dying:
                _ = copy.tell(.exited(.unknown))
                _ = copy.tell(.treeEmptied)
            case .idle, .launching, .running, .terminating: return "not ending: \(copy.machine.phase)"
            }
        }
        return "no end"
    }
}

@Suite("Lifecycle requests of every kind at every time")
struct LifecycleStormTests {
    private static let seedsPerShard = UInt64(StormScale.part(of: 250))

    @Test("no request is lost, and every state has a way out", arguments: 0..<8)
    func storms(shard: Int) {
        for seed in 0..<Self.seedsPerShard {
            var storm = LifecycleStorm(seed: UInt64(shard) << 32 + seed)
            guard let complaint = storm.play() else { continue }
            Issue.record(
                "seed \(UInt64(shard) << 32 + seed): \(complaint)\n\(storm.trace.suffix(20).joined(separator: "\n"))")
            return
        }
    }

    @Test("the storm reaches every effect and notice")
    func reach() {
        var reached: Set<String> = []
        for seed in 0..<400 as Range<UInt64> {
            var storm = LifecycleStorm(seed: seed)
            _ = storm.play()
            reached.formUnion(storm.reached)
        }
        let effects = [
            "enter-foreground", "enter-background", "grant", "expire", "deliver", "freeze", "thaw", "measure",
        ]
        let notices = [
            "moving foreground", "moving background", "entered foreground", "entered background", "expiring",
            "longTask",
            "frozen", "incomplete", "locksHeld", "thawed", "responsive", "handled", "refused notSuspended",
            "refused alreadySuspended", "refused notRunning", "refused notTakingPart",
        ]
        for summary in effects + notices.map({ "(\($0))" }) { #expect(reached.contains(summary), "\(summary)") }
    }
}
