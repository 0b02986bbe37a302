// SPDX-License-Identifier: Apache-2.0

import Glibc
package import WatchdogBase
import WatchdogConversation
package import WatchdogPolicy
package import WatchdogWire

/// The shell around one app's ``ProcessMachine``: turns reports into events, and effects into calls.
///
/// Isolation: the loop's thread. An effect may call back; those events are queued and handled in order.
package final class Supervisor {
    /// A message that appears older was sent before the wall clock was set, or waited for the loop; it then counts from
    /// a later instant, in the app's favor.
    private static let mostAge = Duration.milliseconds(100)
    /// Most apps show the next sign of life within this part of an allowance, so no evidence has to be read.
    private static let windowShare = 8

    private let shell: any LaunchEffects
    private var queue: [ProcessEvent] = []
    private var isHandling = false
    /// The machine's time in suspension noticed so far.
    private(set) var suspendedTime: Duration
    /// Signals that were forwarded to the app.
    private var forwarded: Set<Int32> = []
    /// The event that waits for the process.
    @Boxed private var launchingEvent: LaunchingEvent?
    private var hasRefusedMessage = false
    private var limiter = TokenBucket(capacity: 1_000, perSecond: 500)

    /// The machine that decides.
    package private(set) var machine: ProcessMachine
    private var nextDeadline: Instant?
    /// When the machine handled its last event; a message that was read late does not move time back.
    private var lastStep = Instant(nanoseconds: .min)
    private var canWait = false
    private var foresightDue: Instant?
    /// What the app said of itself.
    package private(set) var account = AppAccount()
    /// What the app marked in its launch.
    package private(set) var trace = LaunchTrace()
    private var failedProbes = FailedProbes()
    /// Why the process could not be started.
    package private(set) var spawnFailure: (any Error)?

    /// Called for each notice, in order.
    package var onNotice: (Notice) -> Void = { _ in }
    /// Called with each measured answer.
    package var onMeasurement: (Measurement) -> Void = { _ in }
    /// Called with each event, when it happened, and the effects, before they are executed; nil if nobody records them.
    package var onStep: ((ProcessEvent, Instant, [ProcessEffect]) -> Void)?
    /// Called once, after everything else.
    package var onFinish: (Outcome) -> Void = { _ in }
    /// Called with each notify message that reports a reload, readiness or a status.
    package var onNotify: (NotifyMessage) -> Void = { _ in }
    /// Called with each extension that the app requests, and its progress token, before the machine handles it.
    package var onExtension: (Duration, String?) -> Void = { _, _ in }

    package init(spec: Shared<AppSpec>, shell: any LaunchEffects, nonceSeed: UInt64 = .random(in: 0 ... .max)) {
        self.shell = shell
        self.machine = ProcessMachine(sharing: spec, nonceSeed: nonceSeed)
        self.suspendedTime = shell.suspendedTime
    }

    /// Resumes an app of the previous watchdogd.
    package init(resuming inherited: InheritedLaunch, machine: ProcessMachine, shell: any LaunchEffects) {
        self.shell = shell
        self.machine = machine
        nextDeadline = machine.nextDeadline
        account = inherited.account
        suspendedTime = inherited.state.suspendedTime
    }

    /// What reports contain of the launch.
    package var record: LaunchRecord {
        var trace = trace
        if machine.launchDuration == nil { trace.note(shell.readStartup()) }
        return LaunchRecord(
            account: account, lifecycle: machine.lifecycleRecord, lifecycleState: machine.lifecycleState,
            launchedAt: machine.launchedAt, launchDuration: machine.launchDuration, trace: trace,
            lastPingSent: machine.lastPingSent,
            slowestPing: machine.pings.count > 0 ? machine.pings.maximum : nil, failedProbes: failedProbes)
    }

    // MARK: - Requests

    package func launch() { receive(.launchRequested) }
    package func requestTermination() { receive(.terminateRequested) }

    /// Requests a change of lifecycle state or an event; a notice reports a refusal.
    package func request(_ lifecycle: LifecycleRequest) { receive(.lifecycle(.requested(lifecycle))) }

    /// Sends the app the event for whose sake it is launched, when its launch is over.
    ///
    /// Requests to a process that does not run yet are refused, so this one waits for it.
    package func request(launchingEvent event: LaunchingEvent) {
        trace.noteCause(event)
        launchingEvent = event
    }

    private func sendCause() {
        guard let event = launchingEvent else { return }
        launchingEvent = nil
        request(event.request)
    }

    /// Handles a signal sent to watchdogd: SIGTERM requests termination, others are forwarded.
    package func signalReceived(_ signal: Int32) {
        if signal == SIGTERM {
            requestTermination()
        } else {
            forwarded.insert(signal)
            shell.signal(signal)
        }
    }

    /// This supervisor took over from the previous watchdogd, and everything that was waiting has been handled.
    package func returned(isLastStepDone: Bool) {
        noticeSuspension()
        receive(.supervisorReturned(isLastStepDone: isLastStepDone))
    }

    /// The crash to report for an end; nil if somebody requested the end.
    package func crash(in outcome: Outcome) -> Crash? {
        Crash(outcome, reporting: machine.spec.crashReports, forwarded: forwarded)
    }

    // MARK: - Events of the shell

    package func handle(_ event: LaunchEvent) {
        switch event {
        case .machine(let event): receive(event)
        case .spawnFailed(let error):
            spawnFailure = error
            receive(.spawnFailed)
        case .exited(let status):
            if account.exitStatus == nil { account.exitStatus = status }
            receive(.exited(status))
        case .captured(let incident):
            // A capture that has exceeded its budget must not be taken for the next one.
            guard case .capturing(let current) = machine.phase, current.id == incident else { return }
            receive(.captured)
        case .deadlineReached: deadlineReached()
        case .channelMessage(let datagram):
            let message = ClientMessage(decoding: datagram)
            receive(events(of: message, isLimited: !limiter.admit(at: shell.now)))
            announceMarks()
        case .notifyMessage(let datagram, let age, let isAttributed):
            var message = NotifyMessage(decoding: datagram)
            if !isAttributed { message = message.unattributed }
            let now = shell.now
            let isLimited = !limiter.admit(at: now)
            if message.isReloading || message.isReady || (message.status != nil && !isLimited) { onNotify(message) }
            let sent = max(lastStep, now - max(.zero, min(age, Self.mostAge)))
            receive(events(of: message, isLimited: isLimited, at: sent), at: sent)
            announceMarks()
        case .messageRefused(let sender, let user):
            // Once, because strangers may send without end.
            guard !hasRefusedMessage else { return }
            hasRefusedMessage = true
            onNotice(.messageRefused(sender: sender, user: user))
        case .stateChanged(isUrgent: true): prepare(for: [])
        case .stateChanged(isUrgent: false): saveState(isChanged: true)
        }
    }

    /// Announces what the app has marked in its launch; marks change no allowance, so the machine does not get them.
    private func announceMarks() {
        guard let launchedAt = machine.launchedAt else { return }
        for (mark, after) in trace.newMarks(launchedAt: launchedAt, ready: machine.launchDuration) {
            onNotice(.marked(mark, after: after))
        }
    }

    private func deadlineReached() {
        noticeSuspension()
        guard let nextDeadline, shell.now >= nextDeadline else {
            arm()
            return
        }
        receive(.deadlineReached)
    }

    // MARK: - Events in, effects out

    private func receive(_ event: ProcessEvent) { receive(CollectionOfOne(event)) }

    /// Handles events that came together, and saves the state once at the end.
    ///
    /// - Parameter instant: when they happened; nil for now.
    private func receive(_ events: some Collection<ProcessEvent>, at instant: Instant? = nil) {
        guard !isHandling else { return queue.append(contentsOf: events) }
        guard !events.isEmpty else { return }
        isHandling = true
        for event in events {
            handle(event, at: instant)
            while !queue.isEmpty { handle(queue.removeFirst()) }
        }
        isHandling = false
        saveState(isChanged: false)
        arm()
        // It has a pulse while nothing but signs of life is expected of it.
        shell.expectMessages(machine.pulse == nil)
    }

    private func arm() { shell.arm(at: nextDeadline, canWait: canWait, lookingAhead: foresightDue) }

    private func handle(_ event: ProcessEvent, at instant: Instant? = nil) {
        lastStep = instant ?? shell.now
        let step = machine.step(event, at: lastStep)
        (nextDeadline, canWait, foresightDue) = (step.nextDeadline, step.canWait, step.foresightDue)
        onStep?(event, lastStep, step.effects)
        if let measurement = step.measurement {
            account.note(measurement, at: lastStep)
            onMeasurement(measurement)
        }
        let isIrrevocable = step.effects.contains(where: \.isIrrevocable)
        // The launcher creates the process while the state is written; without that, it would not execute its program.
        let spawns = isIrrevocable && step.effects.contains(where: \.isSpawn)
        let spawnsFirst = spawns && shell.holdsSpawn
        if isIrrevocable, !spawnsFirst { prepare(for: step.effects) }
        for effect in step.effects { perform(effect) }
        if spawnsFirst { prepare(for: step.effects) }
        if spawns { shell.confirmSpawn() }
    }

    private func prepare(for effects: [ProcessEffect]) {
        shell.prepare(for: effects, machine, account, suspendedTime: suspendedTime)
    }

    private func saveState(isChanged: Bool) {
        shell.saveState(&machine, account, suspendedTime: suspendedTime, isChanged: isChanged)
    }

    private func perform(_ effect: ProcessEffect) {
        switch effect {
        case .spawn:
            trace.noteRequest(at: shell.now)
            shell.spawn()
        case .beginWindow:
            shell.beginWindow(patience: machine.pulse.map { $0.allowance / Self.windowShare } ?? .zero)
        case .observe:
            shell.observe(
                every: machine.phase == .launching ? HangWatch.launchInterval(machine.spec) : HangWatch.interval)
        case .endObservation(let hang):
            shell.endObservation(hang, record)
        case .sendPing(let nonce):
            account.pingsSent += 1
            shell.send(SupervisorMessage(ping: nonce).datagram)
        case .probe:
            shell.probe()
        case .probeLiveness(let id):
            shell.probeLiveness(id: id)
        case .cancelLivenessProbe:
            shell.cancelLivenessProbe()
        case .terminate:
            var message = SupervisorMessage()
            message.isTerminating = true
            // The signal goes first: a program that acts on the message at once may have given up its handler, as
            // asyncio does when it closes a loop, and a SIGTERM that comes later would kill it.
            shell.signal(SIGTERM)
            shell.send(message.datagram)
            // A stopped process does not handle SIGTERM until it is continued.
            shell.signal(SIGCONT)
        case .inspect(let id):
            queue.append(.inspected(id: id, shell.inspect()))
        case .capture(let incident):
            shell.capture(incident)
            // After that, the program is stopped and killed by us.
            if machine.launchDuration == nil { endStartup() }
        case .terminateTree:
            shell.terminateTree()
        case .killTree:
            shell.killTree()
        case .report(let incident):
            shell.report(incident, record)
        case .lifecycle(let effect):
            perform(effect)
        case .announce(let notice):
            // Whoever hears that the app is ready asks how it started.
            if case .ready = notice { endStartup() }
            onNotice(notice)
            switch notice {
            case .launched: sendCause()
            case .lifecycle(let notice): trace.note(notice)
            case .ready: announceMarks()
            case .probe(let notice): failedProbes.note(notice, at: lastStep)
            default: break
            }
        case .finish(let outcome):
            onFinish(outcome)
        }
    }

    private func perform(_ effect: LifecycleEffect) {
        switch effect {
        case .freeze: shell.freeze()
        case .thaw: shell.thaw()
        case .measure:
            if let use = shell.resourceUse() { queue.append(.lifecycle(.measured(use))) }
        case .enter, .grant, .expire, .deliver:
            shell.send(SupervisorMessage(effect).datagram)
        }
    }

    private func noticeSuspension() {
        let total = shell.suspendedTime
        let suspension = total - suspendedTime
        suspendedTime = total
        // The clocks are read one after the other; a smaller difference is not a suspension.
        guard suspension >= .milliseconds(10) else { return }
        receive(.machineResumed(suspension: suspension))
    }

    private func endStartup() {
        trace.note(shell.readStartup())
        shell.endStartup()
    }

    // MARK: - Bytes to events

    /// Notes how far the app's clock is ahead of ours, before its launch.
    package func noteClockLead(_ lead: Duration) { trace.clockLead = lead }

    private func showSignOfLife(at instant: Instant) {
        account.signsOfLife += 1
        account.lastSignOfLife = instant
    }

    /// The events in a message; over the rate limit, only its signs of life and lifecycle events.
    private func events(of message: ClientMessage, isLimited: Bool) -> [ProcessEvent] {
        // Not limited: a lost end would leave a task open. The machine keeps only a few.
        var events = message.processEvents
        let isLaunching = machine.launchDuration == nil
        // Once for each: an app may send them without end.
        let isMark = message.hello != nil && trace.hello == nil || message.isFirstFrame && trace.firstFrame == nil
        if isLaunching, isMark { trace.note(shell.readStartup()) }
        if message.hello != nil { trace.noteHello(at: shell.now) }
        if message.pong != nil {
            showSignOfLife(at: shell.now)
            shell.followMainLoop(to: message.thread)
        }
        account.malformed += message.malformed
        guard !isLimited else {
            account.dropped += 1
            return events
        }
        trace.note(message, at: shell.now, isReady: !isLaunching)
        if let hello = message.hello { account.library = hello.library ?? account.library }
        if let status = message.status { account.status = status }
        if let summary = message.summary { account.summary = summary }
        if let extra = message.timeoutExtension {
            events.append(extensionRequested(by: extra, message.progress ?? message.status))
        }
        return events
    }

    private func events(of message: NotifyMessage, isLimited: Bool, at sent: Instant) -> [ProcessEvent] {
        var events: [ProcessEvent] = [.notified]
        if let pid = message.mainProcess, shell.adoptMainProcess(pid) { account.mainProcess = pid }
        if message.isReady { events.append(.ready(.notify)) }
        if let interval = message.watchdogTimeout { events.append(.watchdogIntervalChanged(interval)) }
        switch message.watchdog {
        case .alive:
            showSignOfLife(at: sent)
            events.append(.watchdogPinged)
        case .trigger: events.append(.watchdogTriggered)
        case nil: break
        }
        if message.isStopping { events.append(.stopping) }
        account.malformed += message.malformed
        guard !isLimited else {
            account.dropped += 1
            return events
        }
        if message.isFirstFrame {
            if machine.launchDuration == nil, trace.firstFrame == nil { trace.note(shell.readStartup()) }
            trace.noteFirstFrame(at: sent)
        }
        if message.isUseful { trace.noteUse(at: sent) }
        if let status = message.status { account.status = status }
        if let errno = message.errno { account.errno = errno }
        if let extra = message.timeoutExtension {
            events.append(extensionRequested(by: extra, message.progress ?? message.status))
        }
        return events
    }

    private func extensionRequested(by duration: Duration, _ progress: String?) -> ProcessEvent {
        onExtension(duration, progress)
        return .extensionRequested(by: duration, progress: progress)
    }
}
