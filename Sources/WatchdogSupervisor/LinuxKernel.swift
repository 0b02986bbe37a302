// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogCapture
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogWire

/// The real kernel behind one ``Supervisor``: sockets, processes, timers and threads on one event loop.
///
/// Isolation: the loop's thread.
final class LinuxKernel: Kernel {
    /// What other threads tell the loop.
    enum Message: Sendable {
        case captured(incident: Int, CaptureOutcome)
        case reported(incident: Int, ReportOutcome)
    }

    let loop: EventLoop
    let configuration: LaunchConfiguration
    let mailbox: Mailbox<Message>
    let captureThread: CaptureThread
    let reportWriter: ReportWriter
    let cgroup: Cgroup?
    let cgroupParent: CgroupParent?
    /// Why there is no cgroup.
    let cgroupRefusal: String?
    let notifySocket: NotifySocket
    let channel: Channel
    let terminal: Terminal?

    weak var supervisor: Supervisor?
    /// Called when the report of an incident is written, or could not be.
    var onReport: (Incident, ReportOutcome) -> Void = { _, _ in }

    var containment: Containment?
    var appEnd: OwnedDescriptor?
    var deadline: Timer?
    var sources: [EventSource] = []
    var channelSource: IOSource?
    var main: MainProcess?
    var window: Window?
    var lastObservation: ProcessProbe.Observation?
    var captures: [Int: CaptureOutcome] = [:]
    var facts: [Int: IncidentFacts] = [:]
    var runningCaptures = 0
    var hasChildNews = false
    /// Until the next look at the dying tree; nil when there is none to wait for.
    var treeStep: Duration?
    var treeTimer: Timer?
    var probeProcess: ProbeProcess?
    var exitUsage: ResourceUsage?
    var pendingReports: [Int: Incident] = [:]

    init(loop: EventLoop, configuration: LaunchConfiguration) throws {
        self.loop = loop
        self.configuration = configuration
        mailbox = try Mailbox(capacity: 64)
        captureThread = try CaptureThread()
        reportWriter = ReportWriter(store: configuration.store, symbolicator: Symbolicator(), mailbox: mailbox)
        (cgroupParent, cgroup, cgroupRefusal) = Self.makeCgroup(for: configuration.name)
        notifySocket = try NotifySocket(for: configuration.credentials?.user)
        (channel, appEnd) = try Channel.make()
        terminal = Terminal.foreground
    }

    /// Connects everything to the loop; to be called once, before the launch.
    func start(_ supervisor: Supervisor) throws {
        self.supervisor = supervisor
        deadline = try loop.timer(priority: .idle) { [weak supervisor] _ in supervisor?.deadlineReached() }
        sources += try loop.onSignal([SIGCHLD], priority: .important) { [unowned self] _ in childrenChanged() }
        sources.append(try loop.receive(from: mailbox) { [unowned self] in received($0) })
        sources.append(try loop.onReadable(notifySocket.descriptor) { [unowned self] in readNotifySocket() })
        channelSource = try loop.onReadable(channel.descriptor) { [unowned self] in readChannel() }
        try limitRates()
    }

    /// Ends a readiness command that is still running, and takes away what the run put into the file system.
    func stop() {
        probeProcess?.cancel()
        guard let cgroup, (try? cgroup.remove()) != nil else { return }
        try? cgroupParent?.remove()
    }

    /// What `--verbose` tells before the launch.
    func describe(_ scheduling: Scheduling) {
        StandardError.say("scheduling: \(scheduling)")
        StandardError.say(cgroup.map { "cgroup: \($0.path)" } ?? "no cgroup: \(cgroupRefusal ?? "unknown reason")")
        StandardError.say("reports: \(configuration.store.directory)")
    }

    private static func makeCgroup(for name: String) -> (CgroupParent?, Cgroup?, refusal: String?) {
        do {
            let parent = try CgroupParent.create()
            do {
                return (parent, try parent.create(app: name), nil)
            } catch {
                try? parent.remove()
                return (nil, nil, "\(error)")
            }
        } catch {
            return (nil, nil, "\(error)")
        }
    }

    /// The main process's id; nil before the launch.
    var pid: Int32? { main?.process.pid }

    var now: Instant { .now() }

    func arm(at instant: Instant?) {
        if deadline?.due != instant { deadline?.arm(at: instant) }
    }

    func send(_ datagram: [UInt8]) {
        channel.send(datagram)
    }

    func signal(_ signal: Int32) {
        // The process may be gone already: then its exit is on the way.
        try? main?.process.send(signal)
    }

    private func received(_ message: Message) {
        switch message {
        case .captured(let incident, let outcome): captured(incident, outcome)
        case .reported(let incident, let outcome): reported(incident, outcome)
        }
    }
}
