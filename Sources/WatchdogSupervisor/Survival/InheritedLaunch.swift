// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

/// A launch of the watchdogd before this one, with what is left of it.
struct InheritedLaunch {
    var state: LaunchState
    /// What was saved last, after everything was done that the state led to; nil when it may not have been.
    var pulse: LaunchPulse?
    let file: StateFile
    var descriptors: InheritedDescriptors

    /// The machine as it was saved last; nil when it is none that could be.
    var machine: AppMachine? { AppMachine(resuming: state.machine, pulse: pulse?.machine) }

    /// What is known of the app, the counts of the pulse included.
    var account: AppAccount {
        var account = state.account
        if let pulse {
            account.pingsSent = pulse.pingsSent
            account.signsOfLife = pulse.signsOfLife
            account.lastSignOfLife = pulse.lastSignOfLife
        }
        return account
    }

    /// The main process, if it is the one that was launched, whether or not it still lives; nil when it is gone and nobody
    /// holds it.
    var process: Pidfd? {
        guard let saved = state.process else { return nil }
        if let held = descriptors.process(saved.pid) { return Pidfd(pid: saved.pid, descriptor: held) }
        // The pidfd first: what is compared afterwards is then of the process that it holds.
        guard let process = try? Pidfd(opening: saved.pid), let stat = ProcessStat.read(saved.pid),
            stat.startTime == saved.startTime
        else { return nil }
        return process
    }
}

extension Inheritance {
    /// An app is launched again only when its launch before is over: all but the first of each app are.
    var latestFirst: [InheritedLaunch] {
        // Of one that was about to be launched it is not known when.
        func instant(_ launch: InheritedLaunch) -> Instant {
            launch.state.machine.launchedAt ?? Instant(nanoseconds: .max)
        }
        return launches.sorted { instant($0) > instant($1) }
    }
}

/// Descriptors of a launch that have survived.
struct InheritedDescriptors {
    var channel: OwnedDescriptor?
    var notifySocket: (descriptor: OwnedDescriptor, address: String)?
    private var processes: [(pid: Int32?, descriptor: OwnedDescriptor)] = []

    init(_ descriptors: [OwnedDescriptor] = []) {
        for descriptor in descriptors {
            switch DescriptorKind(of: descriptor) {
            case .channel: channel = descriptor
            case .notifySocket(let address): notifySocket = (descriptor, address)
            case .process(let pid): processes.append((pid, descriptor))
            case .other: break
            }
        }
    }

    /// The pidfd of a process; of one that was reaped the kernel no longer tells whose it is.
    func process(_ pid: Int32) -> OwnedDescriptor? {
        processes.first { $0.pid == pid }?.descriptor ?? processes.last { $0.pid == nil }?.descriptor
    }

    /// A process that still is there.
    var living: Int32? { processes.lazy.compactMap(\.pid).first }
}
