// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
package import WatchdogLinux
package import WatchdogPolicy
import WatchdogReport

/// A launch of the previous watchdogd and what survives of it.
package struct InheritedLaunch {
    package var state: LaunchState
    /// The latest pulse; nil if watchdogd may have ended before it finished what the saved state led to.
    var pulse: LaunchPulse?
    package let file: StateFile
    package var descriptors: InheritedDescriptors

    /// The machine in its last saved state; nil if that state is not a valid one.
    package var machine: ProcessMachine? {
        ProcessMachine(resuming: state.machine, pulse: pulse?.asLate(by: .now()).machine)
    }

    /// What is known of the app, with the counts from the pulse.
    package var account: AppAccount {
        var account = state.account
        if let pulse {
            account.pingsSent = pulse.pingsSent
            account.signsOfLife = pulse.signsOfLife
            account.lastSignOfLife = pulse.lastSignOfLife
        }
        return account
    }

    /// The main process, dead or alive, if it is the one that was launched; nil when it is gone and no descriptor holds
    /// it.
    package var process: Pidfd? {
        guard let saved = state.process else { return nil }
        if let held = descriptors.process(saved.pid) { return Pidfd(pid: saved.pid, descriptor: held) }
        // Open the pidfd before comparing, so that the comparison is about the process it holds.
        guard let process = try? Pidfd(opening: saved.pid), let stat = ProcessStat.read(saved.pid),
            stat.startTime == saved.startTime
        else { return nil }
        return process
    }
}

extension Inheritance {
    /// The launches, latest first.
    ///
    /// An app is launched again only when its previous launch is over, so all but the first of each app are over.
    package var latestFirst: [InheritedLaunch] {
        // A launch that was about to start has no launch time yet.
        func instant(_ launch: InheritedLaunch) -> Instant {
            launch.state.machine.launchedAt ?? Instant(nanoseconds: .max)
        }
        return launches.sorted { instant($0) > instant($1) }
    }
}

/// The surviving descriptors of a launch.
package struct InheritedDescriptors {
    package var channel: OwnedDescriptor?
    var notifySocket: (descriptor: OwnedDescriptor, address: String)?
    private var processes: [(pid: Int32?, descriptor: OwnedDescriptor)] = []

    package init(_ descriptors: [OwnedDescriptor] = []) {
        for descriptor in descriptors {
            switch DescriptorKind(of: descriptor) {
            case .channel: channel = descriptor
            case .notifySocket(let address): notifySocket = (descriptor, address)
            case .process(let pid): processes.append((pid, descriptor))
            case .other: break
            }
        }
    }

    /// The pidfd of a process; the kernel no longer reports the pid of a reaped one.
    package func process(_ pid: Int32) -> OwnedDescriptor? {
        processes.first { $0.pid == pid }?.descriptor ?? processes.last { $0.pid == nil }?.descriptor
    }

    /// A process that still exists.
    package var living: Int32? { processes.lazy.compactMap(\.pid).first }
}
