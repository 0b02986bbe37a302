// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

extension Daemon {
    // MARK: - Beginning

    /// Goes on where the watchdogd before this one was, and launches what else is enabled.
    ///
    /// - Parameter known: the apps that have files, valid or not.
    func resume(_ inheritance: Inheritance, known: Set<String>) {
        host.endCommands(of: inheritance.launches)
        for problem in inheritance.problems { say("\(problem); what it told of a launch is lost") }
        let kept = Dictionary(
            uniqueKeysWithValues: appNames.compactMap { name in
                host.survival?.kept(name).map { (name, $0) }
            })
        for (name, state) in kept { apps[name]?.restore(state) }
        var present: Set<String> = []
        var decided: Set<String> = []
        for launch in inheritance.latestFirst {
            let name = launch.state.name
            if resume(launch, isKnown: known.contains(name), isLatest: present.insert(name).inserted) {
                decided.insert(name)
            }
        }
        host.survival?.forgetApps(besides: known)
        for launch in inheritance.unreadable { adopt(launch.launchID, launch.descriptors, file: launch.file) }
        for name in appNames where !decided.contains(name) {
            guard let app = apps[name], case .stopped = app.stage else { continue }
            if adoptInstance(of: app) { continue }
            app.goOn(from: kept[name]?.stage)
        }
    }

    /// Returns whether it is decided what follows for the app.
    private func resume(_ inherited: InheritedLaunch, isKnown: Bool, isLatest: Bool) -> Bool {
        let name = inherited.state.name
        do {
            let launch = try AppLaunch(resuming: inherited, on: host, store: store)
            try launch.kernel.start(launch.supervisor)
            if let app = apps[name], isLatest {
                return app.resume(launch, inherited)
            } else if let app = apps[name], case .ended = launch.supervisor.machine.phase {
                app.resumeReports(of: launch, inherited)
            } else {
                hold(launch, inherited, isKnown: isKnown && isLatest)
            }
        } catch {
            say("\(name): the launch of the watchdogd before this one cannot be gone on with: \(error)")
        }
        return false
    }

    /// Supervises a launch whose app is not configured: a file that is wrong is no reason to end it, a file that is gone
    /// is, as at a reload.
    ///
    /// An app may have several: the latest, and those before it whose reports are still to be written.
    private func hold(_ launch: AppLaunch, _ inherited: InheritedLaunch, isKnown: Bool) {
        let name = inherited.state.name
        unclaimed.append(launch)
        let narration = Narration(name: name, verbosity: verbosity)
        launch.supervisor.onNotice = { [unowned self] notice in
            if let line = narration.line(for: notice) { say(line) }
        }
        launch.kernel.onReport = { [unowned self, unowned launch] in reported($0, $1, of: launch, narration) }
        launch.kernel.onHangReport = { [unowned self, unowned launch] in reported($0, $1, of: launch, narration) }
        launch.kernel.onCrashReport = { [unowned self, unowned launch] in reported($0, $1, of: launch, narration) }
        launch.supervisor.onFinish = { [unowned self, unowned launch] _ in
            // The launch is in the middle of handling what has ended it.
            later { [self] in releaseIfOver(launch) }
        }
        // How it is to go on is not configured.
        if let reload = inherited.state.reload {
            reload.command?.end()
            say("\(name): its reload was cut off")
        }
        guard launch.kernel.resume(inherited) else { return release(launch) }
        if case .ended = launch.supervisor.machine.phase { return releaseIfOver(launch) }
        say("\(name) runs on, but has no \(isKnown ? "valid " : "")configuration" + (isKnown ? "" : "; it is ended"))
        if !isKnown { launch.supervisor.requestTermination() }
    }

    private func reported(
        _ event: some ReportedEvent, _ report: ReportOutcome, of launch: AppLaunch, _ narration: Narration
    ) {
        if isTold(event), !report.isVoid { say(narration.lines(of: event, pid: launch.pid, report)) }
        releaseIfOver(launch)
    }

    private func releaseIfOver(_ launch: AppLaunch) {
        guard case .ended = launch.supervisor.machine.phase, !launch.hasPendingReports else { return }
        // Not at once: it may be telling of a report, or of its end.
        later { [self] in release(launch) }
    }

    private func release(_ launch: AppLaunch) {
        guard let index = unclaimed.firstIndex(where: { $0 === launch }) else { return }
        unclaimed.remove(at: index)
        launch.kernel.stop()
        if let keeper = launch.kernel.keeper { host.survival?.forget(keeper) }
        let name = launch.kernel.configuration.name
        if apps[name] == nil, !unclaimed.contains(where: { $0.kernel.configuration.name == name }) {
            host.survival?.forget(app: name)
        }
        appCameToRest()
    }

    /// A launch that runs on without an app, for the app that wants to run.
    func claim(_ name: String) -> AppLaunch? {
        let index = unclaimed.firstIndex { launch in
            guard launch.kernel.configuration.name == name else { return false }
            if case .ended = launch.supervisor.machine.phase { return false }
            return true
        }
        return index.map { unclaimed.remove(at: $0) }
    }

    // MARK: - History lost

    /// A launch of which the state cannot be read: its process is taken over as it is.
    private func adopt(_ launchID: String, _ descriptors: InheritedDescriptors, file: String?) {
        let app = apps.values.first { $0.counted?.description == launchID && $0.current == nil }
        if let app, let pid = descriptors.living, adopt(pid, descriptors, as: app) { return }
        lostDescriptors[launchID] = descriptors
        if let file { unlink(file) }
        host.survival?.notifier?.removeStored(launchID)
    }

    /// Processes of an app of which there is no state at all, found by the app's cgroup.
    private func adoptInstance(of app: DaemonApp) -> Bool {
        guard let cgroup = host.populatedCgroup(of: app.name) else { return false }
        let processes = cgroup.processes()
        let root = processes.first { pid in
            ProcessStat.read(pid)?.session == pid
                && ProcessFacts.environment(pid)?[LinuxKernel.launchVariable] != nil
        }
        guard let root else {
            say("\(app.name) runs already (pid \(processes.first ?? 0)), and cannot be supervised; it is left alone")
            return false
        }
        let launchID = ProcessFacts.environment(root)?[LinuxKernel.launchVariable] ?? ""
        return adopt(root, lostDescriptors.removeValue(forKey: launchID) ?? InheritedDescriptors(), as: app)
    }

    private func adopt(_ pid: Int32, _ descriptors: InheritedDescriptors, as app: DaemonApp) -> Bool {
        do {
            let process = try Pidfd(opening: pid)
            let environment = ProcessFacts.environment(pid)
            guard let mark = environment?[LinuxKernel.launchVariable], let launchID = IncidentID(mark) else {
                return false
            }
            var configuration = try LaunchConfiguration(
                app.configuration, scope: places.scope, store: store,
                warn: { [unowned self] in say("\(app.name): \($0)") })
            configuration.launchID = launchID
            let launch = try AppLaunch(
                adopting: configuration, cgroup: host.populatedCgroup(of: app.name), descriptors,
                notifyAddress: environment?["NOTIFY_SOCKET"] ?? "", on: host)
            try launch.kernel.start(launch.supervisor)
            app.takeOver(launch)
            launch.kernel.adopt(process)
            return true
        } catch {
            say("\(app.name) runs already (pid \(pid)), and cannot be supervised: \(error)")
            return false
        }
    }

    // MARK: - Ending without ending

    /// Ends, and leaves the apps to the next watchdogd.
    func leave() {
        isLeaving = true
        flush()
        host.survival?.notifier?.say(["STOPPING=1"])
        host.loop.exit(code: 0)
    }

    /// Executes the program anew, as it now is on disk, in this process.
    func reexecute() {
        reexecute(attempts: 100)
    }

    /// Waits for captures and reports that are under way, but not for ever: they would be begun again.
    private func reexecute(attempts: Int) {
        guard !isStopping, !isLeaving else { return }
        // Before commands that are under way are ended: the next watchdogd would begin them anew.
        if let obstacle = Reexecution.obstacle { return say("\(obstacle); this watchdogd goes on") }
        guard !host.isBusy || attempts == 0 else {
            reexecution = try? host.loop.timer { [unowned self] _ in reexecute(attempts: attempts - 1) }
            reexecution?.arm(at: host.loop.now + .milliseconds(50))
            return
        }
        let descriptors = flush()
        host.releaseScheduling()
        OpenFileLimit.restore()
        let error = Reexecution.execute(keeping: descriptors)
        OpenFileLimit.raise()
        host.requestScheduling()
        say("\(error); this watchdogd goes on")
    }

    /// Keeps everything as it is now, and returns the descriptors that go with it.
    @discardableResult
    private func flush() -> [Int32] {
        doPostponed()
        var launches = unclaimed
        for app in apps.values {
            app.keep()
            launches += app.retired
            switch app.stage {
            case .live(let launch), .unkillable(let launch): launches.append(launch)
            case .preparing(_, let preparation): preparation.cancel()
            case .stopped, .waiting, .failed: break
            }
        }
        for launch in launches { launch.kernel.flush() }
        return launches.flatMap { $0.kernel.keptDescriptors.map(\.number) }
    }
}

extension Host {
    /// The cgroup in which processes of an app run; nil when none do.
    func populatedCgroup(of name: String) -> Cgroup? {
        guard let path = cgroupParent?.path(of: name), let cgroup = try? Cgroup(opening: path) else { return nil }
        return cgroup.isPopulated == true ? cgroup : nil
    }

    /// An app never runs twice, whatever has become of what is known of it.
    func checkNothingRuns(of name: String) throws(LaunchRefusal) {
        guard survival != nil, let cgroup = populatedCgroup(of: name) else { return }
        let pids = cgroup.processes().prefix(4).map { "\($0)" }.joined(separator: ", ")
        throw LaunchRefusal("it runs already: pid \(pids) in \(cgroup.path)")
    }
}
