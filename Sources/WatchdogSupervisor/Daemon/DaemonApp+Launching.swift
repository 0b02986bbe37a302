// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration
import WatchdogControl
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

extension DaemonApp {
    /// Starts the app, unless it runs.
    func begin() {
        guard current == nil else { return }
        if case .unkillable = stage { return }
        if let launch = daemon.claim(name) { return takeOver(launch) }
        timer?.arm(at: nil)
        wish = .asConfigured
        restarts.launched(at: daemon.host.loop.now)
        do {
            try daemon.host.checkNothingRuns(of: name)
            try OpenFileLimit.checkRoom()
            var launching = try LaunchConfiguration(
                configuration, scope: daemon.places.scope, store: daemon.store,
                warn: { [daemon, name] in daemon.say("\(name): \($0)") })
            daemon.share(&launching)
            launching.connect(try daemon.streams(for: configuration, launching))
            let launch = try AppLaunch(launching, on: daemon.host)
            for refusal in launch.kernel.limitCgroup() { daemon.say("\(name) \(refusal)") }
            try launch.kernel.start(launch.supervisor)
            connect(launch)
            latest = launch
            counted = launch.kernel.configuration.launchID
            prepare(launch)
        } catch {
            launchFailed("\(error)")
        }
    }

    private func prepare(_ launch: AppLaunch) {
        guard !configuration.program.preparations.isEmpty else {
            stage = .live(launch)
            return launch.supervisor.launch()
        }
        let preparation = Preparation(configuration.program.preparations, of: launch.kernel) { [weak self] failure in
            self?.prepared(launch, failure: failure)
        }
        stage = .preparing(launch, preparation)
        // What was asked for is done, also by the next watchdogd, once a command has run.
        keep()
        preparation.begin()
    }

    private func prepared(_ launch: AppLaunch, failure: String?) {
        guard case .preparing(let present, _) = stage, present === launch else { return }
        guard let failure else {
            stage = .live(launch)
            return launch.supervisor.launch()
        }
        daemon.later { [self] in
            retire(launch)
            launchFailed(failure)
        }
    }

    func connect(_ launch: AppLaunch) {
        launch.supervisor.onNotice = { [unowned self, unowned launch] in noticed($0, of: launch) }
        launch.supervisor.onFinish = { [unowned self, unowned launch] outcome in
            // The launch is in the middle of handling what has ended it.
            daemon.later { [self] in ended(launch, outcome) }
        }
        launch.kernel.onReport = { [unowned self, unowned launch] incident, report in
            reported(incident, report, of: launch)
            retireIfReported(launch)
        }
        launch.kernel.onHangReport = { [unowned self, unowned launch] hang, report in
            hangReported(hang, report, of: launch)
            retireIfReported(launch)
        }
        launch.kernel.onCrashReport = { [unowned self, unowned launch] crash, report in
            crashReported(crash, report, of: launch)
            retireIfReported(launch)
        }
    }

    private func retireIfReported(_ launch: AppLaunch) {
        guard retired.contains(where: { $0 === launch }), !launch.hasPendingReports else { return }
        daemon.later { [self] in retire(launch) }
    }

    /// Nothing runs: it is known before there is a process that there will be none.
    private func launchFailed(_ reason: String) {
        lastExit = "could not be started"
        noteLaunchFailure(reason)
        settle(Outcome(cause: .spawnFailed, status: nil, isDeathVerified: true), reason: reason)
    }

    func noteLaunchFailure(_ reason: String) {
        let message = "could not be started: \(reason)"
        daemon.publish(.launchFailed, of: self, message)
        lastIncident = IncidentSummary(kind: .spawn, time: .now(), summary: message)
    }
}
