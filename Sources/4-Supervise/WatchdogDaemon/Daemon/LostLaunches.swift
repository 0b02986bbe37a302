// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

/// The launches of the previous watchdogd whose saved state cannot be read: adopts their processes.
///
/// Isolation: the loop's thread.
final class LostLaunches {
    private unowned let daemon: Daemon
    /// Those of launches about which nothing else is known.
    private var descriptors: [String: InheritedDescriptors] = [:]

    init(of daemon: Daemon) {
        self.daemon = daemon
    }

    /// Adopts the process of a launch whose state cannot be read.
    func adopt(_ launchID: String, _ descriptors: InheritedDescriptors, file: String?) {
        let app = daemon.apps.values.first { $0.machine.isInheriting && $0.machine.counted?.description == launchID }
        if let app, let pid = descriptors.living, adopt(pid, descriptors, as: app) { return }
        self.descriptors[launchID] = descriptors
        if let file { unlink(file) }
        daemon.host.survival?.notifier?.removeStored(launchID)
    }

    /// Adopts the process of an app without saved state, found by the app's cgroup.
    func adoptInstance(of app: DaemonApp) {
        guard let cgroup = daemon.host.populatedCgroup(of: app.name) else { return }
        let processes = cgroup.processes()
        let root = processes.first { pid in
            ProcessStat.read(pid)?.session == pid
                && daemon.host.environment(of: pid, app.name)?[LaunchConfiguration.launchVariable] != nil
        }
        guard let root else {
            return daemon.announcer.say(
                "\(app.name) is already running (pid \(processes.first ?? 0)), and cannot be supervised; it is left alone"
            )
        }
        let launchID = daemon.host.environment(of: root, app.name)?[LaunchConfiguration.launchVariable] ?? ""
        _ = adopt(root, descriptors.removeValue(forKey: launchID) ?? InheritedDescriptors(), as: app)
    }

    private func adopt(_ pid: Int32, _ descriptors: InheritedDescriptors, as app: DaemonApp) -> Bool {
        do {
            guard let appConfiguration = app.configuration else { return false }
            let process = try Pidfd(opening: pid)
            let environment = daemon.host.environment(of: pid, app.name)
            guard let mark = environment?[LaunchConfiguration.launchVariable], let launchID = IncidentID(mark) else {
                return false
            }
            var configuration = try LaunchConfiguration(
                appConfiguration, scope: daemon.places.scope, store: daemon.store,
                warn: { [announcer = daemon.announcer] in announcer.say("\(app.name): \($0)") })
            configuration.launchID = launchID
            let launch = try AppLaunch(
                adopting: process, configuration, cgroup: daemon.host.populatedCgroup(of: app.name), descriptors,
                notifyAddress: environment?["NOTIFY_SOCKET"] ?? "", on: daemon.host)
            try app.adopt(launch)
            return true
        } catch {
            daemon.announcer.say("\(app.name) is already running (pid \(pid)), and cannot be supervised: \(error)")
            return false
        }
    }
}

extension Host {
    /// The environment of a process of an app; nil if it may not be read or does not answer.
    fileprivate func environment(of pid: Int32, _ app: String) -> Environment? {
        let tenant = Tenant(app: app, user: ProcessStatus.read(pid)?.user ?? 0)
        return copiers.copying(for: tenant).environment(of: pid)
    }

    /// The cgroup in which processes of an app run; nil when none do.
    func populatedCgroup(of name: String) -> Cgroup? {
        guard let path = cgroupParent?.path(of: name), let cgroup = try? Cgroup(opening: path) else { return nil }
        return cgroup.isPopulated == true ? cgroup : nil
    }

    /// An app never runs twice, even if its state is lost.
    func checkNothingRuns(of name: String) throws(LaunchRefusal) {
        guard survival != nil, let cgroup = populatedCgroup(of: name) else { return }
        let pids = cgroup.processes().prefix(4).map { "\($0)" }.joined(separator: ", ")
        throw LaunchRefusal("it is already running: pid \(pids) in \(cgroup.path)")
    }
}
