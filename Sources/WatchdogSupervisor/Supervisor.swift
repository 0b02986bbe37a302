// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogPolicy
import WatchdogWire

/// The shell around one app's ``AppMachine``: turns what the kernel reports into events, and effects into calls.
///
/// Isolation: the loop's thread. Calls may come from within an effect; events are then queued and handled in order.
final class Supervisor {
    private let kernel: any Kernel
    private var queue: [AppEvent] = []
    private var isHandling = false
    /// The machine's time in suspension, as far as it was taken note of.
    private(set) var suspendedTime: Duration
    /// Signals that went on to the app.
    private var forwarded: Set<Int32> = []
    private var limiter = RateLimiter(capacity: 1_000, refillPerSecond: 500)

    /// The decisions.
    private(set) var machine: AppMachine
    /// The machine's.
    private var nextDeadline: Instant?
    private var canWait = false
    /// What the app said of itself.
    private(set) var account = AppAccount()
    /// What the app marked in its launch.
    private(set) var trace = LaunchTrace()
    /// Why the process could not be started.
    private(set) var spawnFailure: (any Error)?

    /// Called for each notice, in order.
    var onNotice: (Notice) -> Void = { _ in }
    /// Called once, last.
    var onFinish: (Outcome) -> Void = { _ in }
    /// Called with each message on the notify socket that tells of a reload, or that the app is ready.
    var onNotify: (NotifyMessage) -> Void = { _ in }
    /// Called with each extension that the app asks for, and its token of progress, before the machine hears of it.
    var onExtension: (Duration, String?) -> Void = { _, _ in }

    init(spec: Shared<AppSpec>, kernel: any Kernel, nonceSeed: UInt64 = .random(in: 0 ... .max)) {
        self.kernel = kernel
        self.machine = AppMachine(sharing: spec, nonceSeed: nonceSeed)
        self.suspendedTime = kernel.suspendedTime
    }

    /// Goes on with an app of the watchdogd before this one.
    init(resuming inherited: InheritedLaunch, machine: AppMachine, kernel: any Kernel) {
        self.kernel = kernel
        self.machine = machine
        nextDeadline = machine.nextDeadline
        account = inherited.account
        suspendedTime = inherited.state.suspendedTime
    }

    // MARK: - What the kernel reports

    func launch() { receive(.launchRequested) }
    func stopped() { receive(.stopped) }
    func continued() { receive(.continued) }
    func probeEnded(isReady: Bool) { receive(.probed(isReady: isReady)) }
    func livenessProbeEnded(id: Int, _ result: ProbeResult) { receive(.livenessProbed(id: id, result)) }
    func captureEnded() { receive(.captured) }
    func treeEmptied() { receive(.treeEmptied) }
    func requestTermination() { receive(.terminateRequested) }
    func frozen(locks: [LockedFile]) { receive(.lifecycle(.froze(locks: locks))) }

    /// Asks something of the app, which is carried out, or refused in a notice.
    func request(_ lifecycle: LifecycleRequest) { receive(.lifecycle(.requested(lifecycle))) }
    func spawned(_ pid: Int32) { receive(.spawned(pid: pid)) }
    func adopted(_ pid: Int32) { receive(.adopted(pid: pid)) }
    func channelLost() { receive(.channelLost) }

    func returned(isLastStepDone: Bool) {
        noticeSuspension()
        receive(.supervisorReturned(isLastStepDone: isLastStepDone))
    }

    func exited(_ status: ExitStatus) {
        if account.exitStatus == nil { account.exitStatus = status }
        receive(.exited(status))
    }

    func deadlineReached() {
        noticeSuspension()
        guard let nextDeadline, kernel.now >= nextDeadline else {
            arm()
            return
        }
        receive(.deadlineReached)
    }

    /// A signal that watchdogd itself was sent: SIGTERM is the request to terminate, the others go on to the app.
    func signalReceived(_ signal: Int32) {
        if signal == SIGTERM {
            requestTermination()
        } else {
            forwarded.insert(signal)
            kernel.signal(signal)
        }
    }

    /// What is to be reported of an end; nil when somebody has asked for it.
    func crash(in outcome: Outcome) -> Crash? {
        Crash(outcome, reporting: machine.spec.crashReports, forwarded: forwarded)
    }

    /// A datagram from the app's channel.
    func channelReceived(_ datagram: some Collection<UInt8>) {
        let message = ClientMessage(decoding: datagram)
        receive(events(of: message, isLimited: !limiter.admit(at: kernel.now.nanoseconds)))
    }

    /// A datagram from the notify socket that a process of the app sent.
    func notifyReceived(_ datagram: some Collection<UInt8>) {
        let message = NotifyMessage(decoding: datagram)
        if message.isReloading || message.isReady { onNotify(message) }
        receive(events(of: message, isLimited: !limiter.admit(at: kernel.now.nanoseconds)))
    }

    // MARK: - Events in, effects out

    private func receive(_ event: AppEvent) { receive(CollectionOfOne(event)) }

    /// What came together is kept together: once, when all of it is done.
    private func receive(_ events: some Collection<AppEvent>) {
        guard !isHandling else { return queue.append(contentsOf: events) }
        guard !events.isEmpty else { return }
        isHandling = true
        for event in events {
            handle(event)
            while !queue.isEmpty { handle(queue.removeFirst()) }
        }
        isHandling = false
        settle()
        arm()
    }

    private func arm() { kernel.arm(at: nextDeadline, canWait: canWait) }

    private func handle(_ event: AppEvent) {
        let step = machine.step(event, at: kernel.now)
        (nextDeadline, canWait) = (step.nextDeadline, step.canWait)
        if step.effects.contains(where: \.isIrrevocable) { kernel.prepare(for: step.effects) }
        for effect in step.effects { perform(effect) }
    }

    /// Keeps the state as it is now.
    func settle() { kernel.settle(&machine) }

    private func perform(_ effect: AppEffect) {
        switch effect {
        case .spawn:
            do {
                queue.append(.spawned(pid: try kernel.spawn()))
            } catch {
                spawnFailure = error
                queue.append(.spawnFailed)
            }
        case .beginWindow:
            kernel.beginWindow()
        case .observe:
            kernel.observe()
        case .endObservation(let hang):
            kernel.endObservation(hang)
        case .sendPing(let nonce):
            account.pingsSent += 1
            kernel.send(SupervisorMessage(ping: nonce).datagram)
        case .probe:
            kernel.probe()
        case .probeLiveness(let id):
            kernel.probeLiveness(id: id)
        case .cancelLivenessProbe:
            kernel.cancelLivenessProbe()
        case .terminate:
            var message = SupervisorMessage()
            message.isTerminating = true
            kernel.send(message.datagram)
            kernel.signal(SIGTERM)
            // A stopped process would never see the SIGTERM.
            kernel.signal(SIGCONT)
        case .inspect:
            queue.append(.inspected(kernel.inspect()))
        case .capture(let incident):
            kernel.capture(incident)
        case .killTree:
            kernel.killTree()
        case .report(let incident):
            kernel.report(incident)
        case .lifecycle(let effect):
            perform(effect)
        case .announce(let notice):
            onNotice(notice)
        case .finish(let outcome):
            onFinish(outcome)
        }
    }

    private func perform(_ effect: LifecycleEffect) {
        switch effect {
        case .freeze: kernel.freeze()
        case .thaw: kernel.thaw()
        case .measure:
            if let use = kernel.resourceUse() { queue.append(.lifecycle(.measured(use))) }
        case .enter, .grant, .expire, .deliver:
            kernel.send(SupervisorMessage(effect).datagram)
        }
    }

    private func noticeSuspension() {
        let total = kernel.suspendedTime
        let suspension = total - suspendedTime
        suspendedTime = total
        // The two clocks are read one after the other: less than this is no suspension.
        guard suspension >= .milliseconds(10) else { return }
        receive(.machineResumed(suspension: suspension))
    }

    // MARK: - Bytes to events

    private func showSignOfLife() {
        account.signsOfLife += 1
        account.lastSignOfLife = kernel.now
    }

    /// A flood keeps its signs of life and loses everything else.
    private func events(of message: ClientMessage, isLimited: Bool) -> [AppEvent] {
        var events: [AppEvent] = []
        if let hello = message.hello { events += hello.hasLifecycle ? [.hello, .lifecycle(.joined)] : [.hello] }
        if message.isReady { events.append(.ready(.channel)) }
        if let nonce = message.pong {
            showSignOfLife()
            kernel.followMainLoop(to: message.thread)
            events.append(.ponged(nonce: nonce))
        }
        if message.isStopping { events.append(.stopping) }
        // Not limited: an end that is lost would be a task that stays open. The machine keeps few of them.
        events += lifecycleEvents(of: message)
        account.malformed += message.malformed
        guard !isLimited else {
            account.dropped += 1
            return events
        }
        trace.note(message, at: kernel.now)
        if let hello = message.hello { account.library = hello.library ?? account.library }
        if let status = message.status { account.status = status }
        if let summary = message.summary { account.summary = summary }
        if let extra = message.timeoutExtension {
            events.append(extensionRequested(by: extra, message.progress ?? message.status))
        }
        return events
    }

    private func events(of message: NotifyMessage, isLimited: Bool) -> [AppEvent] {
        var events: [AppEvent] = [.notified]
        if let pid = message.mainProcess, kernel.adoptMainProcess(pid) { account.mainProcess = pid }
        if message.isReady { events.append(.ready(.notify)) }
        if let interval = message.watchdogTimeout { events.append(.watchdogIntervalChanged(interval)) }
        switch message.watchdog {
        case .alive:
            showSignOfLife()
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
        if let status = message.status { account.status = status }
        if let errno = message.errno { account.errno = errno }
        if let extra = message.timeoutExtension {
            events.append(extensionRequested(by: extra, message.progress ?? message.status))
        }
        return events
    }

    private func extensionRequested(by duration: Duration, _ progress: String?) -> AppEvent {
        onExtension(duration, progress)
        return .extensionRequested(by: duration, progress: progress)
    }
}
