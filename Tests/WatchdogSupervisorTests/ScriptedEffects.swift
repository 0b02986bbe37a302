// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

@testable import WatchdogLaunch

/// The effects of a launch on virtual time; the test plays the app.
final class ScriptedEffects: LaunchEffects {
    enum Call: Equatable {
        case spawn
        case send(String)
        case signal(Int32)
        case capture(WatchdogEvent, at: Duration)
        case terminateTree
        case killTree
        case report(WatchdogEvent, isDeathVerified: Bool?)
        case freeze
        case thaw
    }

    struct SpawnFailure: Error {}

    private var agenda: [(at: Instant, order: Int, action: () -> Void)] = []
    private var order = 0
    private var deadline: Instant?

    private(set) var now = Instant(nanoseconds: 1_000_000_000_000)
    private(set) var calls: [Call] = []
    private(set) var notices: [Notice] = []
    private(set) var outcome: Outcome?

    var suspendedTime = Duration.zero
    var evidence = Evidence(state: "S")
    var canSpawn = true
    var processes: Set<Int32> = [100]
    /// The app's reaction to a datagram on its channel.
    var onSend: (String) -> Void = { _ in }
    var onSignal: (Int32) -> Void = { _ in }
    var onProbe: () -> Void = {}
    /// The app's reaction to a liveness probe.
    var onLivenessProbe: (Int) -> Void = { _ in }
    private(set) var livenessProbesCancelled = 0
    /// Whether SIGKILL ends the app.
    var isKillable = true
    private(set) var mainLoopThread: Int32?
    /// The files locked when the app is frozen.
    var locks: [LockedFile] = []
    var use: ResourceUse?
    /// Whether the app's messages must be read immediately.
    private(set) var isExpecting = true
    /// The kernel's record of the start.
    var startup = StartupReading()

    let start: Instant
    private(set) var supervisor: Supervisor?

    init() {
        start = now
    }

    var elapsed: Duration { now - start }

    func supervise(_ spec: AppSpec, nonceSeed: UInt64 = 0) -> Supervisor {
        let supervisor = Supervisor(spec: Shared(wrappedValue: spec), shell: self, nonceSeed: nonceSeed)
        supervisor.onNotice = { [unowned self] in notices.append($0) }
        supervisor.onFinish = { [unowned self] in outcome = $0 }
        self.supervisor = supervisor
        return supervisor
    }

    // MARK: - Virtual time

    func after(_ delay: Duration, _ action: @escaping () -> Void) {
        order += 1
        agenda.append((now + delay, order, action))
    }

    /// Advances time: entries of an instant happen before its deadline, like the loop's priorities.
    func run(for duration: Duration) {
        let end = now + duration
        while outcome == nil {
            let next = agenda.min { ($0.at, $0.order) < ($1.at, $1.order) }
            if let next, next.at <= end, deadline.map({ next.at <= $0 }) ?? true {
                now = max(now, next.at)
                agenda.removeAll { $0.order == next.order }
                next.action()
            } else if let due = deadline, due <= end {
                now = max(now, due)
                deadline = nil
                supervisor?.handle(.deadlineReached)
            } else {
                break
            }
        }
        now = max(now, end)
    }

    // MARK: - Effects

    func arm(at deadline: Instant?, canWait: Bool, lookingAhead foresight: Instant?) { self.deadline = deadline }

    func expectMessages(_ isExpecting: Bool) { self.isExpecting = isExpecting }

    func spawn() {
        calls.append(.spawn)
        supervisor?.handle(canSpawn ? .machine(.spawned(pid: 100)) : .spawnFailed(SpawnFailure()))
    }

    func send(_ datagram: [UInt8]) {
        let text = String(decoding: datagram, as: UTF8.self)
        if !text.hasPrefix("PING=") { calls.append(.send(text)) }
        onSend(text)
    }

    func signal(_ signal: Int32) {
        calls.append(.signal(signal))
        onSignal(signal)
    }

    func adoptMainProcess(_ pid: Int32) -> Bool { processes.contains(pid) }

    func followMainLoop(to thread: Int32?) { mainLoopThread = thread }

    func beginWindow(patience: Duration) {}

    func inspect() -> Evidence { evidence }

    func observe(every interval: Duration) {}

    func endObservation(_ hang: Hang?, _ record: LaunchRecord) {}

    func probe() { onProbe() }

    func probeLiveness(id: Int) { onLivenessProbe(id) }

    func cancelLivenessProbe() { livenessProbesCancelled += 1 }

    func capture(_ incident: Incident) {
        calls.append(.capture(incident.event, at: elapsed))
        after(.milliseconds(3)) { [unowned self] in
            supervisor?.handle(.captured(incident: incident.id))
            if incident.isEnforced, isKillable { supervisor?.handle(.exited(.signaled(signal: 9, coreDumped: false))) }
        }
    }

    func terminateTree() {
        calls.append(.terminateTree)
        after(.milliseconds(1)) { [unowned self] in supervisor?.handle(.machine(.treeEmptied)) }
    }

    func killTree() {
        calls.append(.killTree)
        guard isKillable else { return }
        after(.milliseconds(1)) { [unowned self] in
            supervisor?.handle(.exited(.signaled(signal: 9, coreDumped: false)))
            supervisor?.handle(.machine(.treeEmptied))
        }
    }

    func freeze() {
        calls.append(.freeze)
        after(.milliseconds(2)) { [unowned self] in supervisor?.handle(.machine(.lifecycle(.froze(locks: locks)))) }
    }

    func thaw() { calls.append(.thaw) }

    var holdsSpawn: Bool { false }
    func confirmSpawn() {}
    func readStartup() -> StartupReading { startup }
    func endStartup() {}
    func prepare(
        for effects: [ProcessEffect], _ machine: ProcessMachine, _ account: AppAccount, suspendedTime: Duration
    ) {}
    func saveState(
        _ machine: inout ProcessMachine, _ account: AppAccount, suspendedTime: Duration, isChanged: Bool
    ) {}

    func resourceUse() -> ResourceUse? { use }

    func report(_ incident: Incident, _ record: LaunchRecord) {
        calls.append(.report(incident.event, isDeathVerified: incident.isDeathVerified))
    }
}

extension ScriptedEffects {
    /// Sends from the app's side of the channel.
    func say(_ text: String) { supervisor?.handle(.channelMessage(Array(text.utf8))) }

    /// Sends from the app's side of the notify socket.
    func notify(_ text: String) { supervisor?.handle(.notifyMessage(Array(text.utf8))) }

    /// Answers each ping after `delay`.
    func answerPings(after delay: Duration = .microseconds(100)) {
        onSend = { [unowned self] text in
            guard text.hasPrefix("PING=") else { return }
            let nonce = text.dropFirst(5).prefix { $0.isNumber }
            after(delay) { [unowned self] in say("PONG=\(nonce)\n") }
        }
    }
}
