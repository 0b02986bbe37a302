// SPDX-License-Identifier: Apache-2.0

import WatchdogControl
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

/// One launch of an app by the daemon, from its process to its last report.
///
/// Isolation: the loop's thread.
final class AppLaunch {
    let kernel: LinuxKernel
    let supervisor: Supervisor
    /// What made it ready.
    private(set) var readiness: ReadinessSource?
    /// Why it cannot be probed.
    private(set) var probeRefusal: String?
    /// When it came into the state in which it is.
    private(set) var stateBegan = Timestamp.now()

    /// Creates the sockets and the cgroup of a launch.
    init(_ configuration: LaunchConfiguration, on host: Host) throws {
        kernel = try LinuxKernel(host, configuration, terminal: nil)
        supervisor = Supervisor(spec: configuration.sharedSpec, kernel: kernel)
    }

    /// Takes over a launch of the watchdogd before this one; ``LinuxKernel/resume(_:)`` is to follow.
    init(resuming inherited: InheritedLaunch, on host: Host, store: ReportStore) throws {
        guard let machine = inherited.machine else { throw LaunchRefusal("its state makes no sense") }
        kernel = try LinuxKernel(
            host, resuming: LaunchConfiguration(resuming: inherited.state, store: store),
            cgroup: inherited.state.cgroup.flatMap { try? Cgroup(opening: $0) },
            inherited.descriptors, notifyAddress: inherited.state.notifyAddress)
        supervisor = Supervisor(resuming: inherited, machine: machine, kernel: kernel)
        readiness = machine.readinessSource
    }

    /// Takes over a process whose history is lost; ``LinuxKernel/adopt(_:)`` is to follow.
    init(
        adopting configuration: LaunchConfiguration, cgroup: Cgroup?, _ descriptors: InheritedDescriptors,
        notifyAddress: String, on host: Host
    ) throws {
        kernel = try LinuxKernel(
            host, resuming: configuration, cgroup: cgroup, descriptors, notifyAddress: notifyAddress)
        kernel.keeper = host.survival?.keeper(for: configuration.launchID)
        supervisor = Supervisor(spec: configuration.sharedSpec, kernel: kernel)
    }

    var pid: Int32? { kernel.pid }

    /// When the main process began to run.
    var launchedAt: Instant? { supervisor.machine.launchedAt }

    /// Remembers what a summary tells.
    func note(_ notice: Notice) {
        switch notice {
        case .probe(.impossible(let reason)):
            probeRefusal = reason
            return
        case .ready(let source, _): readiness = source
        case .launched, .adopted, .terminating, .transgressed, .exited, .unkillable: break
        case .hung, .starvationCredit, .overslept, .machineResumed, .paused, .resumed, .extended, .extensionRefused,
            .captureTimedOut, .channelLost, .lifecycle, .probe:
            return
        }
        stateBegan = .now()
    }

    /// Whether nothing of the app is left, as far as can be seen.
    var isGone: Bool {
        (kernel.main.map { $0.process.hasExited } ?? true) && (kernel.containment?.isEmpty ?? true)
    }

    /// Whether reports of it are still being written.
    var hasPendingReports: Bool { !kernel.pendingReports.isEmpty }
}
