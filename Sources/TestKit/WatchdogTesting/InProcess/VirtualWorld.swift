// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import WatchdogBase
internal import WatchdogConversation
internal import WatchdogPolicy
internal import WatchdogWire

/// Virtual time, the tasks that sleep in it, and the policy that watches one app.
///
/// Isolation: any thread.
final class VirtualWorld: Sendable {
    private struct Sleeper {
        let deadline: Duration
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now: Duration = .zero
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        var lastSleeper = 0
        var machine: ProcessMachine
        var due: Instant?
        var inbox: [SupervisorMessage] = []
        var isFrozen = false
        var incidents: [Incident] = []
        var outcome: Outcome?
    }

    /// Zero is not a valid launch instant.
    private static let origin = Instant(nanoseconds: 1_000_000_000)
    private let state: Mutex<State>

    init(_ spec: AppSpec) { state = Mutex(State(machine: ProcessMachine(spec: spec, nonceSeed: 1))) }

    // MARK: - Time

    var now: Duration { state.withLock { $0.now } }

    /// The time of the next wake-up or policy deadline; nil without one.
    var next: Duration? {
        state.withLock { state in
            let wakes = state.isFrozen ? nil : state.sleepers.values.map(\.deadline).min()
            return [wakes, state.due.map { $0 - Self.origin }].compactMap(\.self).min()
        }
    }

    func set(_ now: Duration) { state.withLock { $0.now = max($0.now, now) } }

    /// Advances the policy through all its deadlines up to a time.
    func pass(to end: Duration) {
        state.withLock { state in
            while let due = state.due, due - Self.origin <= end {
                state.now = max(state.now, due - Self.origin)
                Self.step(.deadlineReached, &state)
            }
            state.now = max(state.now, end)
        }
    }

    // MARK: - Sleepers

    func sleep(until deadline: Duration) async throws {
        let id = state.withLock { state in
            state.lastSleeper += 1
            return state.lastSleeper
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                state.withLock { state in
                    if state.cancelled.remove(id) != nil { return continuation.resume(throwing: CancellationError()) }
                    guard deadline > state.now else { return continuation.resume() }
                    state.sleepers[id] = Sleeper(deadline: deadline, continuation: continuation)
                }
            }
        } onCancel: {
            state.withLock { state in
                guard let sleeper = state.sleepers.removeValue(forKey: id) else {
                    state.cancelled.insert(id)
                    return
                }
                sleeper.continuation.resume(throwing: CancellationError())
            }
        }
    }

    /// Wakes the sleepers that are due, in the order of their deadlines.
    ///
    /// - Returns: whether any was due.
    func wake() -> Bool {
        state.withLock { state in
            guard !state.isFrozen else { return false }
            let now = state.now
            let due = state.sleepers.filter { $0.value.deadline <= now }
                .sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }
            for (id, sleeper) in due {
                state.sleepers[id] = nil
                sleeper.continuation.resume()
            }
            return !due.isEmpty
        }
    }

    // MARK: - The policy

    /// The next message for the app; nil without one, or while the app is suspended.
    func nextMessage() -> SupervisorMessage? {
        state.withLock { state in
            guard !state.isFrozen, state.outcome == nil, !state.inbox.isEmpty else { return nil }
            return state.inbox.removeFirst()
        }
    }

    func receive(_ event: ProcessEvent) { state.withLock { Self.step(event, &$0) } }

    func receive(_ message: ClientMessage) {
        state.withLock { state in
            for event in message.processEvents { Self.step(event, &state) }
            guard let time = message.timeoutExtension else { return }
            Self.step(.extensionRequested(by: time, progress: message.progress ?? message.status), &state)
        }
    }

    var machine: ProcessMachine { state.withLock { $0.machine } }
    var incidents: [Incident] { state.withLock { $0.incidents } }
    var outcome: Outcome? { state.withLock { $0.outcome } }

    private static func step(_ event: ProcessEvent, _ state: inout State) {
        var events = [event]
        while !events.isEmpty {
            let step = state.machine.step(events.removeFirst(), at: origin + state.now)
            state.due = step.nextDeadline
            for effect in step.effects { events += perform(effect, &state) }
        }
    }

    private static func perform(_ effect: ProcessEffect, _ state: inout State) -> [ProcessEvent] {
        switch effect {
        case .spawn: return [.spawned(pid: 2)]
        case .sendPing(let nonce): state.inbox.append(SupervisorMessage(ping: nonce))
        case .terminate:
            var message = SupervisorMessage()
            message.isTerminating = true
            state.inbox.append(message)
        // An idle machine: no credit for waiting for a CPU.
        case .inspect(let id): return [.inspected(id: id, Evidence(state: "S"))]
        case .capture(let incident):
            state.incidents.append(incident)
            return [.captured]
        case .terminateTree: return [.treeEmptied]
        case .killTree: return [.exited(.signaled(signal: 9, coreDumped: false)), .treeEmptied]
        case .lifecycle(.freeze):
            state.isFrozen = true
            return [.lifecycle(.froze(locks: []))]
        case .lifecycle(.thaw): state.isFrozen = false
        case .lifecycle(.measure): return [.lifecycle(.measured(ResourceUse(cpuTime: .zero)))]
        case .lifecycle(let effect): state.inbox.append(SupervisorMessage(effect))
        case .finish(let outcome): state.outcome = outcome
        case .beginWindow, .observe, .endObservation, .probe, .probeLiveness, .cancelLivenessProbe, .report, .announce:
            break
        }
        return []
    }
}
