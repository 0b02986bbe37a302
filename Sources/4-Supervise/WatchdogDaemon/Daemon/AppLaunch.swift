// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
package import WatchdogControl
package import WatchdogLaunch
package import WatchdogLinux
package import WatchdogPolicy
import WatchdogReport
package import WatchdogReportStore

/// One launch of an app by the daemon, from its process to its last report.
///
/// Isolation: the loop's thread.
package final class AppLaunch {
    package let shell: LaunchShell
    package let supervisor: Supervisor
    package let id: LaunchID
    /// What made the app ready.
    private(set) var readiness: ReadinessSource?
    /// Why the app cannot be probed.
    private(set) var probeRefusal: String?
    /// What the history remembers of the launch.
    package var notes = LaunchNotes()
    /// When the launch entered its current state, apart from an incident that is only reported: it interrupts none.
    private var entered = Timestamp.now()
    /// When the latest incident was decided.
    private var incidentBegan: Timestamp?
    /// Whether the observation was ended, and not the process.
    private(set) var isLetGo = false
    /// Nil once the launch is resumed or the process is adopted.
    private var origin: Origin?

    /// Whose launch it was, if not this daemon's.
    ///
    /// Indirect: an idle launch must not have the room for it.
    private indirect enum Origin {
        /// The previous watchdogd's, with what it left.
        case inherited(InheritedLaunch)
        /// Somebody's whose process was found.
        case found(Pidfd, startTime: UInt64?, LaunchMoment?)
    }

    /// Creates the sockets and the cgroup of a launch.
    ///
    /// - Parameter terminal: lent to the program, if it gets one.
    package init(_ configuration: LaunchConfiguration, on host: Host, terminal: ForegroundTerminal? = nil) throws {
        shell = try LaunchShell(host, configuration, terminal: terminal)
        id = LaunchID(configuration.launchID.description)
        supervisor = Supervisor(spec: configuration.sharedSpec, shell: shell)
        if let event = configuration.launchingEvent { supervisor.request(launchingEvent: event) }
    }

    /// Prepares to resume a launch of the previous watchdogd; call ``resume(_:)`` next.
    package init(resuming inherited: InheritedLaunch, on host: Host, store: ReportStore) throws {
        guard let machine = inherited.machine else { throw LaunchRefusal("its saved state is not valid") }
        shell = try LaunchShell(
            host, resuming: LaunchConfiguration(resuming: inherited.state, store: store),
            cgroup: inherited.state.cgroup.flatMap { try? Cgroup(opening: $0) },
            inherited.descriptors, notifyAddress: inherited.state.notifyAddress)
        id = LaunchID(inherited.state.launchID.description)
        supervisor = Supervisor(resuming: inherited, machine: machine, shell: shell)
        readiness = machine.readinessSource
        origin = .inherited(inherited)
    }

    /// Prepares to adopt a process whose state is lost; call ``adopt()`` next.
    package init(
        adopting process: Pidfd, _ configuration: LaunchConfiguration, cgroup: Cgroup?,
        _ descriptors: InheritedDescriptors, notifyAddress: String, on host: Host
    ) throws {
        shell = try LaunchShell(
            host, resuming: configuration, cgroup: cgroup, descriptors, notifyAddress: notifyAddress)
        shell.keeper = host.survival?.keeper(for: configuration.launchID)
        id = LaunchID(configuration.launchID.description)
        origin = .found(process, startTime: nil, nil)
        supervisor = Supervisor(spec: configuration.sharedSpec, shell: shell)
    }

    /// Prepares to observe a process that someone else started; call ``adopt()`` next.
    package init(observing process: ObservedProcess, _ configuration: LaunchConfiguration, on host: Host) throws {
        shell = try LaunchShell(
            host, resuming: configuration, cgroup: process.cgroup.flatMap { try? Cgroup(opening: $0) },
            InheritedDescriptors(), notifyAddress: "")
        id = LaunchID(configuration.launchID.description)
        origin = .found(process.process, startTime: process.startTime, process.launched)
        supervisor = Supervisor(spec: configuration.sharedSpec, shell: shell)
    }

    package var pid: Int32? { shell.pid }

    /// When the launch entered its current state.
    package var stateBegan: Timestamp {
        switch supervisor.machine.phase {
        case .capturing, .dying: max(entered, incidentBegan ?? entered)
        case .idle, .launching, .running, .terminating, .ended: entered
        }
    }

    /// When the app last answered, pushed, or answered a probe; nil if it has not.
    package var lastAnswer: Timestamp? {
        supervisor.account.lastAnswer.map { Timestamp.now().earlier(by: shell.now - $0) }
    }

    /// When the main process was launched.
    var launchedAt: Instant? { supervisor.machine.launchedAt }

    /// How long each phase of the launch took that has ended; empty if another watchdogd began it.
    package var phases: [LaunchPhaseName: Duration] {
        let record = supervisor.record
        return record.trace.durations(launchedAt: launchedAt, ready: record.launchDuration, until: shell.now)
    }

    /// How the launch ended; nil before that.
    package var outcome: Outcome? {
        if case .ended(let outcome) = supervisor.machine.phase { outcome } else { nil }
    }

    /// Whether the app may still become ready, and has sent nothing.
    var isSilent: Bool { supervisor.machine.phase == .launching && !supervisor.machine.hasSpoken }

    func takeInherited() -> InheritedLaunch? {
        guard case .inherited(let inherited) = origin else { return nil }
        origin = nil
        return inherited
    }

    /// Notes what a summary shows.
    func note(_ notice: Notice) {
        switch notice {
        case .probe(.impossible(let reason)):
            probeRefusal = reason
            return
        case .ready(let source, _): readiness = source
        case .transgressed:
            incidentBegan = .now()
            return
        case .launched, .adopted, .terminating, .exited, .unkillable: break
        case .slow, .hung, .starvationCredit, .overslept, .machineResumed, .paused, .resumed, .extended,
            .extensionRefused, .messageRefused, .captureTimedOut, .channelLost, .lifecycle, .probe, .marked:
            return
        }
        entered = .now()
    }

    /// Whether no process of the launch remains, as far as can be determined.
    var isGone: Bool { shell.isGone }

    /// Whether reports of the launch are being written.
    package var hasPendingReports: Bool { shell.hasPendingReports }
    /// Whether a command for an incident runs, of this or another launch.
    package var hasHooks: Bool { !shell.host.hooks.isIdle }

    /// Resumes what the previous watchdogd launched; returns false if nothing was launched.
    func resume(_ inherited: InheritedLaunch) -> Bool {
        LaunchResumption(shell: shell, supervisor: supervisor).resume(inherited)
    }

    /// Starts the program, or adopts the process that was found.
    func begin() {
        if case .found = origin { adopt() } else { supervisor.launch() }
    }

    /// Asks the program to terminate; for a process that someone else owns, only ends the observation.
    func end() {
        guard shell.configuration.observed != nil else { return supervisor.requestTermination() }
        isLetGo = true
        shell.tree.letGo()
    }

    /// Adopts the process that was found.
    package func adopt() {
        guard case .found(let process, let startTime, let launched) = origin else { return }
        origin = nil
        LaunchResumption(shell: shell, supervisor: supervisor)
            .adopt(process, startTime: startTime, launched: launched)
    }

    /// Saves everything for the watchdogd that follows immediately.
    func flush() { shell.flush(supervisor) }

    /// Captures the stacks of a healthy app and writes a report; the app keeps running.
    func capture(then tell: @escaping (ReportOutcome) -> Void) {
        shell.incidents.captureOnRequest(supervisor.record, then: tell)
    }

    /// Starts writing the report of an unexpected end.
    package func report(_ crash: Crash) { shell.incidents.report(crash, supervisor.record) }
}
