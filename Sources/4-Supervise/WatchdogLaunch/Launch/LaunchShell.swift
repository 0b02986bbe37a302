// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
import WatchdogConfiguration
package import WatchdogLinux
package import WatchdogPolicy
import WatchdogReport
package import WatchdogWire

/// The real environment of one launch: composes its tree, sockets, commands, evidence, incidents and output.
///
/// It passes the components' ``LaunchEvent``s on to the ``Supervisor`` and decides nothing.
///
/// Isolation: the loop's thread.
package final class LaunchShell: LaunchEffects {
    package let host: Host
    /// Without the streams, of which a copy would keep them open; several components share it.
    @Shared package private(set) var configuration: LaunchConfiguration
    /// Closed once the program has them.
    private var streams: StandardStreams?
    /// Saves the state of the launch; nil if there will be no next watchdogd.
    package var keeper: LaunchKeeper?

    package let tree: LaunchTree
    let sockets: LaunchSockets
    package let evidence: LaunchEvidence
    package let commands: LaunchCommands
    package let incidents: LaunchIncidents
    private let startup: LaunchStartup
    package let output = LaunchOutput()
    /// What its reports would lack now, in one phrase each.
    package var gaps: [String] { host.gaps.phrases(of: configuration.tenant) }
    private let key: Int
    private var deadline: Timer?
    private var deadlineCanWait = false
    private(set) var onEvent: (LaunchEvent) -> Void = { _ in }
    /// The running reload, for the next watchdogd.
    @Boxed package private(set) var reload: KeptReload?
    /// Whether the app blocks its main loop when it is asked to.
    package private(set) var acceptsFaults = false
    /// How many processes of the app remained when its main process exited with code 0.
    package private(set) var leftBehind = 0

    /// Creates the sockets and the cgroup of a launch.
    ///
    /// - Parameters:
    ///   - host: what it shares with other launches.
    ///   - configuration: what is launched.
    ///   - terminal: lent to the program, if it gets one.
    package convenience init(_ host: Host, _ configuration: LaunchConfiguration, terminal: ForegroundTerminal?) throws {
        let relay = LaunchRelay()
        let sockets = try LaunchSockets(
            host, configuration, senders: { relay.shell?.tree.senders }, mainUser: { relay.shell?.tree.mainUser }
        ) { relay.shell?.handle($0) }
        self.init(
            host, configuration, cgroup: host.makeCgroup(for: configuration.name), sockets, terminal: terminal, relay)
        keeper = host.survival?.keeper(for: configuration.launchID)
    }

    /// Takes over a launch of the previous watchdogd.
    ///
    /// - Parameters:
    ///   - host: what it shares with other launches.
    ///   - configuration: what was launched.
    ///   - cgroup: the cgroup that holds its processes; nil if there is none.
    ///   - descriptors: what remains of its sockets; the rest is created anew.
    ///   - notifyAddress: the address that the notify socket had, and keeps.
    package convenience init(
        _ host: Host, resuming configuration: LaunchConfiguration, cgroup: Cgroup?,
        _ descriptors: InheritedDescriptors, notifyAddress: String
    ) throws {
        let relay = LaunchRelay()
        let sockets = try LaunchSockets(
            host, resuming: configuration, descriptors, notifyAddress: notifyAddress,
            senders: { relay.shell?.tree.senders }, mainUser: { relay.shell?.tree.mainUser }
        ) { relay.shell?.handle($0) }
        let refusal = cgroup == nil ? "it was launched without one" : nil
        self.init(host, configuration, cgroup: (cgroup, refusal), sockets, terminal: nil, relay)
    }

    private init(
        _ host: Host, _ configuration: LaunchConfiguration, cgroup: (cgroup: Cgroup?, refusal: String?),
        _ sockets: LaunchSockets, terminal: ForegroundTerminal?, _ relay: LaunchRelay
    ) {
        self.host = host
        var copy = configuration
        copy.streams = nil
        let plain = Shared(wrappedValue: copy)
        _configuration = plain
        streams = configuration.streams
        self.sockets = sockets
        let emit = { (event: LaunchEvent) in relay.shell?.handle(event) ?? () }
        key = host.makeKey()
        tree = LaunchTree(
            host, key: key, of: configuration.tenant, cgroup: cgroup, launchID: configuration.launchID,
            isObserved: configuration.observed != nil, terminal: terminal,
            readLastMessages: { sockets.readLastMessages() }, emit: emit)
        evidence = LaunchEvidence(
            host, of: configuration.tenant, cgroup: cgroup.cgroup, update: configuration.spec.allowances.update)
        // No command of ours runs in a cgroup of someone else's.
        commands = LaunchCommands(
            host, plain, below: configuration.observed == nil ? cgroup.cgroup : nil, evidence, emit: emit)
        incidents = LaunchIncidents(
            host, key: key, IncidentScene(host: host, launch: plain, tree: tree, evidence: evidence), output,
            emit: emit)
        startup = LaunchStartup(host, of: configuration.tenant)
        relay.shell = self
    }

    /// Connects everything to the loop; call it once, before the launch.
    ///
    /// - Throws: if the loop has no room; then nothing of the launch remains.
    package func start(_ supervisor: Supervisor) throws {
        onEvent = { [weak supervisor] in supervisor?.handle($0) }
        host.add(self, key)
        do {
            deadline = try host.timer(priority: .idle) { [unowned self] _ in
                // Messages are batched: read those that were sent in time before the deadline is decided.
                if !deadlineCanWait { sockets.readMessages() }
                onEvent(.deadlineReached)
            }
            try sockets.start()
        } catch {
            stop()
            throw error
        }
    }

    /// Disconnects from the loop, kills the commands, and removes what the launch created in the file system.
    package func stop() {
        commands.cancelReload()
        commands.stop()
        incidents.stop()
        startup.stop()
        deadline?.cancel()
        host.remove(key)
        sockets.stop()
        tree.stop()
    }

    private func handle(_ event: LaunchEvent) {
        switch event {
        case .machine(.spawned(let pid)): spawned(pid)
        case .spawnFailed:
            // There is no process whose messages could be read.
            sockets.stop()
            streams = nil
        case .exited(.exited(code: 0)):
            let ours = children
            leftBehind = tree.processes().count { !ours.contains($0) }
        case .channelMessage(let datagram):
            evidence.noteMemoryKills()
            if configuration.attributes.allowsFaults, ClientMessage(decoding: datagram).hello?.allowsFaults == true {
                acceptsFaults = true
            }
            judgeSpeaker(datagram)
        case .notifyMessage: evidence.noteMemoryKills()
        case .machine, .exited, .captured, .deadlineReached, .messageRefused, .stateChanged: break
        }
        onEvent(event)
    }

    // MARK: - The launch

    package func spawn() {
        var launched = configuration
        launched.streams = streams
        let request = launched.request(channel: sockets.appEnd, notifyAddress: sockets.notifyAddress)
        // Before the start: if watchdogd is killed during it, the next one can still talk to the process.
        storeSockets()
        tree.spawn(request, onHeld: configuration.attributes.recordsStartup ? startup.beginning : nil)
        // The launcher is creating the process meanwhile.
        sockets.keep()
        evidence.launching()
    }

    package var holdsSpawn: Bool { configuration.attributes.recordsStartup && startup.isPossible }
    package func confirmSpawn() { tree.confirm() }

    private func spawned(_ pid: Int32) {
        let log = streams.map(\.log) ?? StandardStreams.ownLog
        sockets.closeAppEnd()
        streams = nil
        evidence.main.follow(pid, startTime: tree.main?.startTime, isNew: true)
        output.begin(log, of: pid, launchedAt: tree.launched?.instant ?? now, isInCgroup: tree.isInCgroup)
        storeProcess(canWait: true)
    }

    /// Limits the app's use of the machine; returns what could not be limited.
    package func limitCgroup() -> [String] {
        let limits = configuration.cgroupLimits
        guard !limits.controllers.isEmpty else { return [] }
        let refusals =
            cgroup?.apply(limits) ?? limits.controllers.map { ($0, cgroupRefusal ?? "there is no cgroup") }
        return refusals.map { "runs without its limit on \($0.controller): \($0.reason)" }
    }

    package func adoptMainProcess(_ pid: Int32) -> Bool {
        if pid == tree.main?.pid { return true }
        guard tree.adopt(pid) else { return false }
        evidence.main.follow(pid)
        evidence.main.beginWindow(patience: .zero)
        storeProcess()
        return true
    }

    /// Judges the process that says hello or answers a ping, if that is not the main process.
    private func judgeSpeaker(_ datagram: [UInt8]) {
        let isAnswer = { ClientMessage(decoding: datagram).isAnswer }
        if let message = sockets.current, tree.judge(senderOf: message, isAnswer) { followJudged() }
    }

    /// Examines the judged process, which changes when it ends before the main process.
    private func followJudged() {
        guard let judged = tree.judged?.pid, judged != evidence.main.pid else { return }
        evidence.main.follow(judged)
        evidence.main.beginWindow(patience: .zero)
    }

    // MARK: - Requests from others

    package var loop: EventLoop { host.loop }
    package var now: Instant { .now() }
    package var suspendedTime: Duration { SuspendedTime.now() }
    package var cgroup: Cgroup? { tree.cgroup }
    /// Why there is no cgroup.
    package var cgroupRefusal: String? { tree.cgroupRefusal }
    /// The main process's id; nil before the launch.
    package var pid: Int32? { tree.pid }
    /// What the main process had used by the time it was reaped.
    package var exitUsage: ResourceUsage? { tree.exitUsage }
    /// Where the output of this launch can be read; nil if it cannot.
    package var logSource: LogSource? { output.source }
    /// Whether no process of the app remains, as far as can be determined.
    package var isGone: Bool { tree.isGone }
    /// Whether reports are still being written.
    package var hasPendingReports: Bool { incidents.hasPendingReports }

    /// Whether a memory kill by the kernel may have ended the app.
    package var mayHaveEndedForMemory: Bool { evidence.memoryKills.map { $0.total > 0 && $0.recent != 0 } ?? false }

    /// The fraction of the time since the launch, 0 to 1, in which the main thread neither ran nor waited for a CPU.
    package func mainThreadBlockedShare(of duration: Duration) -> Double? { evidence.main.blockedShare(of: duration) }

    /// Notes the working directory, for the search for a core file.
    package func noteWorkingDirectory() {
        if configuration.spec.crashReports != nil { evidence.noteWorkingDirectory(of: tree.main?.pid) }
    }

    /// Saves what the next watchdogd must know of a reload; nil if none is running.
    ///
    /// - Parameter isUrgent: whether it must be saved before the next step.
    package func keepReload(_ kept: KeptReload?, isUrgent: Bool = false) {
        reload = kept
        sockets.isReloading = kept != nil
        onEvent(.stateChanged(isUrgent: isUrgent))
    }

    // MARK: - Children

    /// Children that only this launch reaps.
    var children: [Int32] { (tree.main.map { [$0.pid] } ?? []) + commands.children }

    func childrenChanged() {
        tree.childrenChanged()
        commands.reap()
    }

    // MARK: - Effects

    package func arm(at instant: Instant?, canWait: Bool, lookingAhead foresight: Instant?) {
        evidence.main.lookAhead(at: foresight)
        deadlineCanWait = canWait
        deadline?.setPriority(canWait ? .ping : .idle)
        guard deadline?.due != instant else { return }
        // Each sign of life moves the deadline a little: let the timer fire early and arm it again then.
        if let due = deadline?.due, let instant, due < instant, due - now > (instant - now) / 2 { return }
        deadline?.arm(at: instant)
    }

    package func expectMessages(_ isExpecting: Bool) { sockets.isExpecting = isExpecting }
    package func readStartup() -> StartupReading { startup.read() }
    package func endStartup() { startup.stop() }
    package func send(_ datagram: [UInt8]) { sockets.send(datagram) }
    /// Asks the app to block its main loop; returns false if the message is lost.
    package func requestHang(_ message: SupervisorMessage) -> Bool { sockets.send(message.datagram) }
    package func signal(_ signal: Int32) { tree.signal(signal) }
    package func followMainLoop(to thread: Int32?) { evidence.main.followMainLoop(to: thread) }
    package func beginWindow(patience: Duration) { evidence.main.beginWindow(patience: patience) }
    package func inspect() -> Evidence {
        guard tree.main != nil, !tree.isReaped else { return evidence.inspectLeftovers() }
        followJudged()
        return evidence.inspect()
    }
    package func observe(every interval: Duration) { incidents.observe(every: interval) }
    package func endObservation(_ hang: Hang?, _ record: LaunchRecord) { incidents.endObservation(hang, record) }
    package func probe() { commands.probeReadiness(of: tree.main?.pid) }
    package func probeLiveness(id: Int) { commands.probeLiveness(id: id) }
    package func cancelLivenessProbe() { commands.cancelLivenessProbe() }
    package func capture(_ incident: Incident) { incidents.capture(incident) }
    package func freeze() { tree.freeze() }
    package func thaw() { tree.thaw() }
    package func report(_ incident: Incident, _ record: LaunchRecord) { incidents.report(incident, record) }

    // A capture that is still running has exceeded its budget.
    package func terminateTree() {
        incidents.abandonCapture()
        tree.terminate()
    }
    package func killTree() {
        incidents.abandonCapture()
        tree.kill()
    }

    package func resourceUse() -> ResourceUse? {
        guard tree.main != nil, let cpuTime = tree.cpuTime else { return nil }
        return ResourceUse(cpuTime: cpuTime, runDelay: evidence.main.runDelay)
    }
}

extension ClientMessage {
    /// Whether it says hello or answers a ping.
    fileprivate var isAnswer: Bool { hello != nil || pong != nil }
}

/// Lets the components of a shell report before the shell itself exists.
private final class LaunchRelay {
    weak var shell: LaunchShell?
}
