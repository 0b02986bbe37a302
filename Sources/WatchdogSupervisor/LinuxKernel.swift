// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogCapture
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogWire

/// The real kernel behind one ``Supervisor``: one launch of one app on the loop that it shares with others.
///
/// Isolation: the loop's thread.
final class LinuxKernel: Kernel {
    let host: Host
    private(set) var configuration: LaunchConfiguration
    let cgroup: Cgroup?
    /// Why there is no cgroup.
    let cgroupRefusal: String?
    let notifySocket: NotifySocket
    let channel: Channel
    let terminal: ForegroundTerminal?
    private(set) var key = 0

    weak var supervisor: Supervisor?
    /// Called when the report of an incident is written, or could not be.
    var onReport: (Incident, ReportOutcome) -> Void = { _, _ in }

    /// Called when the report of a hang that ended by itself is written, or could not be.
    var onHangReport: (Hang, ReportOutcome) -> Void = { _, _ in }

    /// Called when the report of a crash is written, or could not be.
    var onCrashReport: (Crash, ReportOutcome) -> Void = { _, _ in }

    var containment: Containment?
    var appEnd: OwnedDescriptor?
    var deadline: Timer?
    var notifySource: IOSource?
    var channelSource: IOSource?
    var main: MainProcess?
    var window: Window?
    var lastObservation: ProcessProbe.Observation?
    var captures: [Int: CaptureOutcome] = [:]
    var facts: [Int: IncidentFacts] = [:]
    /// Until the next look at the dying tree; nil when there is none to wait for.
    var treeStep: Duration?
    var treeTimer: Timer?
    var probeProcess: ProbeProcess?
    var livenessAttempt: LivenessAttempt?
    /// For what commands start, so that nothing of it outlives its time.
    var commandCgroups: [CommandKind: Cgroup] = [:]
    /// The reload that is under way, and its command that runs.
    weak var reload: AppReload?
    var reloadProcess: ProbeProcess?
    /// Those in which something had to be killed, until they are empty.
    var spentCgroups: [Cgroup] = []
    var freezer = Freezer()
    /// Whether the main process has ended, and a debugger has not let its parent know yet.
    var isHeldByDebugger = false
    /// Whether the end of the main process was taken note of.
    var isReaped = false
    var exitUsage: ResourceUsage?
    /// How many processes of the app ran on when its main process had exited with 0.
    var leftBehind = 0
    var pendingReports: [Int: Incident] = [:]
    /// The looks at an app whose allowance runs out.
    var watch: HangWatch?
    /// Those of incidents whose reports are still to be written.
    var watches: [Int: HangWatch] = [:]
    /// When the latest reports of hangs were written.
    var hangReportInstants: [Instant] = []
    /// Where the program was when it was looked at last.
    var lastWorkingDirectory: String?
    var memoryKillNotes = MemoryKillNotes()
    /// Where the output of this launch can be read again; nil when it cannot.
    var logSource: LogSource?
    /// Who is to be told of captures that were asked for, by the numbers of their incidents.
    var requestedCaptures: [Int: (ReportOutcome) -> Void] = [:]
    var lastRequestedCapture = 0
    /// Keeps the state of the launch; nil where nobody would go on with it.
    var keeper: LaunchKeeper?
    /// The main process as the watchdogd before this one knew it.
    var formerProcess: LaunchState.Process?
    /// Reports that are not written yet, by the numbers of their incidents.
    var owed: [Int: LaunchState.OwedReport] = [:]
    /// The id of a crash's report that is not written yet.
    var owedCrash: IncidentID?

    /// - Parameters:
    ///   - host: what it shares with other apps.
    ///   - configuration: what is launched.
    ///   - terminal: what is lent to the program, when watchdogd has a terminal and the program is to have it.
    init(_ host: Host, _ configuration: LaunchConfiguration, terminal: ForegroundTerminal?) throws {
        self.host = host
        self.configuration = configuration
        self.terminal = terminal
        (cgroup, cgroupRefusal) = host.makeCgroup(for: configuration.name)
        notifySocket = try NotifySocket(
            in: host.runtimeDirectory,
            name: "notify-\(configuration.launchID)",
            user: configuration.credentials?.user ?? host.userID
        )
        (channel, appEnd) = try Channel.pair()
        keeper = host.survival?.keeper(for: configuration.launchID)
        notifySocket.keepsAddress = keeper != nil
    }

    /// Takes over a launch of the watchdogd before this one.
    ///
    /// - Parameters:
    ///   - host: what it shares with other apps.
    ///   - configuration: what was launched.
    ///   - cgroup: the cgroup that holds its processes, if one does.
    ///   - descriptors: what is left of its sockets; those that are not are made anew, the notify socket where it was.
    ///   - notifyAddress: where it was.
    init(
        _ host: Host, resuming configuration: LaunchConfiguration, cgroup: Cgroup?,
        _ descriptors: InheritedDescriptors, notifyAddress: String
    ) throws {
        self.host = host
        self.configuration = configuration
        self.cgroup = cgroup
        cgroupRefusal = cgroup == nil ? "it was launched without one" : nil
        terminal = nil
        if let (descriptor, _) = descriptors.notifySocket,
            let socket = NotifySocket(descriptor, boundTo: notifyAddress)
        {
            notifySocket = socket
        } else {
            notifySocket = try NotifySocket(
                in: host.runtimeDirectory,
                name: "notify-\(configuration.launchID)",
                user: configuration.credentials?.user ?? host.userID
            )
        }
        notifySocket.keepsAddress = true
        channel = try descriptors.channel.map { Channel($0) } ?? Channel.pair().supervisor
    }

    /// Connects everything to the loop; to be called once, before the launch.
    func start(_ supervisor: Supervisor) throws {
        self.supervisor = supervisor
        key = host.add(self)
        deadline = try loop.timer(priority: .idle) { [weak supervisor] _ in supervisor?.deadlineReached() }
        notifySource = try loop.onReady(notifySocket.descriptor, for: .readable) { [unowned self] _ in
            readNotifySocket()
        }
        channelSource = try loop.onReady(channel.descriptor, for: .readable) { [unowned self] _ in readChannel() }
        try limitRates()
    }

    /// Leaves the loop, ends a probe that is still under way, and takes away what the launch put into the file system.
    func stop() {
        cancelReload()
        stopCommands()
        _ = takeWatch()
        for source in [deadline, notifySource, channelSource, main?.source, treeTimer, freezer.timer] {
            source?.cancel()
        }
        if let pid { host.setOwner(of: pid, to: nil) }
        host.remove(key)
        notifySocket.keepsAddress = false
        // Busy while a process in it cannot be killed: the next watchdogd removes what this one has to leave.
        try? cgroup?.remove()
    }

    var loop: EventLoop { host.loop }

    /// Limits what the app may take of the machine; returns what could not be limited.
    func limitCgroup() -> [String] {
        let limits = configuration.cgroupLimits
        guard !limits.controllers.isEmpty else { return [] }
        let refusals =
            cgroup?.apply(limits) ?? limits.controllers.map { ($0, cgroupRefusal ?? "there is no cgroup") }
        return refusals.map { "runs without its limit on \($0.controller): \($0.reason)" }
    }

    /// Closes what only a process that is still to be started needs.
    func closeStreams() {
        appEnd = nil
        configuration.streams = nil
    }

    /// The main process's id; nil before the launch.
    var pid: Int32? { main?.process.pid ?? formerProcess?.pid }

    var now: Instant { .now() }

    func arm(at instant: Instant?, canWait: Bool) {
        deadline?.setPriority(canWait ? .ping : .idle)
        if deadline?.due != instant { deadline?.arm(at: instant) }
    }

    func send(_ datagram: [UInt8]) {
        // An app that does not read, or has closed its end, loses messages: its pings then stay unanswered.
        _ = try? channel.send(datagram)
    }

    func signal(_ signal: Int32) {
        // The process may be gone already: then its exit is on the way.
        try? main?.process.send(signal)
    }
}
