// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy

@testable import WatchdogSupervisor

/// A kernel on virtual time: the test is the app, and says what the kernel sees of it.
final class ScriptedKernel: Kernel {
    enum Call: Equatable {
        case spawn
        case send(String)
        case signal(Int32)
        case capture(WatchdogEvent, at: Duration)
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
    /// What the app does with a datagram on its channel.
    var onSend: (String) -> Void = { _ in }
    var onSignal: (Int32) -> Void = { _ in }
    var onProbe: () -> Void = {}
    /// What the app makes of a liveness probe.
    var onLivenessProbe: (Int) -> Void = { _ in }
    private(set) var livenessProbesCancelled = 0
    /// Whether SIGKILL ends the app.
    var isKillable = true
    private(set) var mainLoopThread: Int32?
    /// What is locked when the app is frozen.
    var locks: [LockedFile] = []
    var use: ResourceUse?

    let start: Instant
    private(set) var supervisor: Supervisor?

    init() {
        start = now
    }

    var elapsed: Duration { now - start }

    func supervise(_ spec: AppSpec, nonceSeed: UInt64 = 0) -> Supervisor {
        let supervisor = Supervisor(spec: Shared(wrappedValue: spec), kernel: self, nonceSeed: nonceSeed)
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

    /// Lets time pass: what is on the agenda for an instant happens before the deadline of that instant, as the loop's
    /// priorities have it.
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
                supervisor?.deadlineReached()
            } else {
                break
            }
        }
        now = max(now, end)
    }

    // MARK: - Kernel

    func arm(at deadline: Instant?, canWait: Bool) { self.deadline = deadline }

    func spawn() throws -> Int32 {
        calls.append(.spawn)
        guard canSpawn else { throw SpawnFailure() }
        return 100
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

    func beginWindow() {}

    func inspect() -> Evidence { evidence }

    func observe() {}

    func endObservation(_ hang: Hang?) {}

    func probe() { onProbe() }

    func probeLiveness(id: Int) { onLivenessProbe(id) }

    func cancelLivenessProbe() { livenessProbesCancelled += 1 }

    func capture(_ incident: Incident) {
        calls.append(.capture(incident.event, at: elapsed))
        after(.milliseconds(3)) { [unowned self] in
            supervisor?.captureEnded()
            if incident.isEnforced, isKillable { supervisor?.exited(.signaled(signal: 9, coreDumped: false)) }
        }
    }

    func killTree() {
        calls.append(.killTree)
        guard isKillable else { return }
        after(.milliseconds(1)) { [unowned self] in
            supervisor?.exited(.signaled(signal: 9, coreDumped: false))
            supervisor?.treeEmptied()
        }
    }

    func freeze() {
        calls.append(.freeze)
        after(.milliseconds(2)) { [unowned self] in supervisor?.frozen(locks: locks) }
    }

    func thaw() { calls.append(.thaw) }

    func resourceUse() -> ResourceUse? { use }

    func report(_ incident: Incident) {
        calls.append(.report(incident.event, isDeathVerified: incident.isDeathVerified))
    }
}

extension ScriptedKernel {
    /// The app's side of the channel.
    func say(_ text: String) { supervisor?.channelReceived(Array(text.utf8)) }

    /// The app's side of the notify socket.
    func notify(_ text: String) { supervisor?.notifyReceived(Array(text.utf8)) }

    /// Answers each ping after `delay`.
    func answerPings(after delay: Duration = .microseconds(100)) {
        onSend = { [unowned self] text in
            guard text.hasPrefix("PING=") else { return }
            let nonce = text.dropFirst(5).prefix { $0.isNumber }
            after(delay) { [unowned self] in say("PONG=\(nonce)\n") }
        }
    }
}
