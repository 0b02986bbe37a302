// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration
import WatchdogLaunch
import WatchdogLinux
import WatchdogMetrics
import WatchdogPolicy
import WatchdogVerdict

extension DaemonApp {
    func create() {
        guard let configuration else { preconditionFailure("an app without a configuration is not launched") }
        if let observed = configuration.observed {
            observing = observing ?? AppObserving(of: self)
            observing?.begin(observed)
            return
        }
        creation.begin(configuration, for: takeLaunchingEvent()) { [weak self] in self?.created($0) }
    }

    private func created(_ result: Result<AppLaunch, any Error>) {
        switch result {
        case .success(let launch):
            add(launch)
            // What the former launch still holds is given up when this one is on its way.
            let former = latest
            daemon.later { withExtendedLifetime(former) {} }
            show(launch)
            launch.notes.cause = takeLaunchCause()
            let hasPreparations = configuration?.program.preparations.isEmpty == false
            driver.receive(.created(launch.id, hasPreparations: hasPreparations))
        case .failure(let error):
            notices.notStarted()
            driver.receive(.creationFailed(reason: "\(error)"))
        }
    }

    func connect(_ launch: AppLaunch) {
        launch.supervisor.onNotice = { [unowned self, unowned launch] in noticed($0, of: launch) }
        launch.supervisor.onMeasurement = { [unowned self] measurement in count { $0.measured(measurement) } }
        launch.supervisor.onFinish = { [unowned self, unowned launch] outcome in
            // The launch is in the middle of handling what has ended it.
            daemon.later { [self] in ended(launch, outcome) }
        }
        launch.shell.incidents.onReport = { [unowned self, unowned launch] in
            notices.reported($0, $1, of: launch)
            observing?.restartUnit(of: launch)
            reportWritten($1, HookFacts($0, $1, of: name), of: launch)
        }
        launch.shell.incidents.onHangReport = { [unowned self, unowned launch] in
            notices.hangReported($0, $1, of: launch)
            reportWritten($1, HookFacts($0, $1, of: name), of: launch)
        }
        launch.shell.incidents.onCrashReport = { [unowned self, unowned launch] in
            notices.crashReported($0, $1, of: launch)
            reportWritten($1, HookFacts($0, $1, of: name), of: launch)
        }
    }

    private func noticed(_ notice: Notice, of launch: AppLaunch) {
        if launch.shell.configuration.observed != nil, observing?.noticed(notice, of: launch) == false { return }
        launch.note(notice)
        count(notice, of: launch)
        daemon.history?.noticed(notice, of: launch, in: historyLane)
        switch notice {
        // The allowance of the reload was extended.
        case .extensionRefused(.nothingToExtend) where reloads.isUnderWay: return
        case .launched:
            driver.receive(.launched(launch.id, mayBeSilent: launch.supervisor.machine.spec.readiness == .automatic))
        case .ready:
            launch.shell.noteWorkingDirectory()
            driver.receive(.ready(launch.id))
        case .lifecycle(let notice): moves.noticed(notice, of: launch)
        case .adopted, .channelLost, .slow, .hung, .starvationCredit, .overslept, .machineResumed, .paused, .resumed,
            .extended, .extensionRefused, .messageRefused, .terminating, .transgressed, .captureTimedOut, .exited,
            .unkillable, .probe, .marked:
            break
        }
        daemon.status?.changed()
        daemon.announcer.publish(notice, of: name, launch.shell.subject)
    }

    private func count(_ notice: Notice, of launch: AppLaunch) {
        count { $0.noticed(notice, phases: launch.phases) }
        guard current === launch else { return }
        let (isRunning, now) = (launch.supervisor.machine.phase == .running, daemon.host.loop.now)
        count { $0.run(isRunning, at: now) }
    }

    private func reportWritten(_ outcome: ReportOutcome, _ facts: HookFacts?, of launch: AppLaunch) {
        daemon.host.hooks.run(of: configuration, scope: daemon.places.scope, for: facts)
        let fault = outcome.fault.map { AppMeter.Fault($0) }
        if !outcome.isVoid { count { $0.reported(outcome.verdict.kind, fault: fault) } }
        if outcome.isUnwritten { daemon.reportFailed() }
        guard !launch.hasPendingReports else { return }
        // The launch is in the middle of handling its report.
        daemon.later { [self] in driver.receive(.reported(launch.id)) }
    }

    /// - Parameter isKnown: whether the previous watchdogd has counted the end.
    private func ended(_ launch: AppLaunch, _ outcome: Outcome, isKnown: Bool = false) {
        let isCausedByMemory = launch.shell.mayHaveEndedForMemory
        if outcome.cause == .spawnFailed { creation.forgetProgram() }
        if !isKnown { count { $0.ended(outcome, isCausedByMemory: isCausedByMemory) } }
        if current === launch {
            count { [daemon] in $0.run(false, at: daemon.host.loop.now) }
            moves.abandon()
            reloads.abandon()
            notices.ended(outcome)
            observing?.stop()
        }
        // A crash report that the previous watchdogd began is being written already.
        let crash = launch.shell.incidents.pendingCrash == nil ? launch.supervisor.crash(in: outcome) : nil
        if crash != nil { launch.shell.incidents.addPendingCrash() }
        // After the restart, which does not need them; both wake threads that would take a CPU from it.
        defer {
            daemon.history?.ended(launch, outcome, isCausedByMemory: isCausedByMemory)
            if let crash { launch.report(crash) }
        }
        let end = AppEvent.End(
            outcome, isCausedByMemory: isCausedByMemory, hasPendingReports: crash != nil || launch.hasPendingReports,
            reason: launch.supervisor.spawnFailure.map { "\($0)" } ?? outcome.status?.words ?? "it ended")
        driver.receive(.ended(launch.id, end))
    }

    // MARK: - Launches of the previous watchdogd

    /// Takes part in a launch that the previous watchdogd saved; the latest comes first.
    func inherit(_ inherited: InheritedLaunch) throws {
        let launch = try AppLaunch(resuming: inherited, on: daemon.host, store: daemon.store)
        try launch.shell.start(launch.supervisor)
        add(launch)
        driver.receive(.inherited(launch.id, isOver: launch.outcome != nil))
    }

    func resume(_ launch: AppLaunch) {
        guard let inherited = launch.takeInherited() else { preconditionFailure("a launch is resumed once") }
        let isCurrent = current === launch
        if isCurrent { show(launch) }
        let former = launch.outcome
        if let reload = inherited.state.reload {
            if isCurrent { reloads.resume(reload, of: launch) } else { reload.command?.end() }
        }
        let isThere = launch.resume(inherited)
        let (isRunning, now) = (isThere && launch.supervisor.machine.phase == .running, daemon.host.loop.now)
        if isCurrent { count { $0.run(isRunning, at: now) } }
        daemon.history?.follow(launch, in: historyLane)
        if isThere, former == nil, configuration == nil {
            let isGone = machine.standing == .removed
            daemon.announcer.say(
                "\(name) is still running, but has no \(isGone ? "configuration; ending it" : "valid configuration")")
        }
        driver.answer(
            .resumed(
                launch.id,
                isThere
                    ? .present(launchedAt: launch.launchedAt, isEnding: launch.supervisor.machine.isEnding)
                    : .absent(launchedAt: launch.launchedAt, hasRun: launch.shell.hasRun)))
        guard let former else { return }
        if isCurrent { return daemon.later { [self] in ended(launch, former, isKnown: true) } }
        if !launch.hasPendingReports { driver.receive(.reported(launch.id)) }
    }

    /// Supervises a process that was found, and whose saved state is lost.
    func adopt(_ launch: AppLaunch) throws {
        try launch.shell.start(launch.supervisor)
        add(launch)
        show(launch)
        driver.receive(.found(launch.id))
    }
}
