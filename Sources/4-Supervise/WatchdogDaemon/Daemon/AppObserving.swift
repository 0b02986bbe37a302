// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy

/// Observes an app's process that another supervisor owns, across all its restarts.
///
/// Created when the app is first observed.
///
/// Isolation: the loop's thread.
final class AppObserving {
    private unowned let app: DaemonApp
    /// Nil before the first search.
    private var observation: Observation?

    init(of app: DaemonApp) {
        self.app = app
    }

    /// Starts to search for the process; the app's launch is created once it is found.
    func begin(_ observed: ObservedSettings) {
        do {
            let observation =
                if let observation, observation.target == observed.target { observation } else {
                    try Observation(of: observed.target, on: app.daemon.serviceBus, app.daemon.host)
                }
            self.observation = observation
            observation.onProcess = { [unowned self] in found($0, $1) }
            observation.onAbsence = { [unowned self] reason, _ in say("\(app.name): \(reason)") }
            observation.begin()
        } catch {
            app.driver.receive(.creationFailed(reason: "\(error)"))
        }
    }

    private func found(_ process: ObservedProcess, _ unit: ServiceUnit?) {
        // The service has a new main process while the old one still runs: the machine requests the launch again when
        // the old one has ended.
        guard app.machine.phase == .creating, let configuration = app.configuration else {
            observation?.stop()
            app.current?.end()
            return
        }
        do {
            let probe = configuration.watchdog.probe
            try ObservedPushes.checkJudgeable(observation?.target ?? .process(process.process.pid), probe, unit)
            var launching = process.configuration(configuration.spec, probe?.target, store: app.daemon.store)
            if let version = configuration.program.version { launching.version = version }
            let launch = try AppLaunch(observing: process, launching, on: app.daemon.host)
            try launch.shell.start(launch.supervisor)
            app.add(launch)
            app.show(launch)
            launch.notes.cause = app.takeLaunchCause()
            app.driver.receive(.created(launch.id, hasPreparations: false))
            say(process.words(app.name, probe, unit, restarts: configuration.observed?.restartsUnit == true))
            observation?.follow(process, unit, with: launch.supervisor)
        } catch {
            observation?.refuse(.unavailable("\(error)"))
        }
    }

    /// Handles a notice about an observed process.
    ///
    /// - Returns: false if the notice needs no further handling.
    func noticed(_ notice: Notice, of launch: AppLaunch) -> Bool {
        switch notice {
        case .adopted:
            launch.note(notice)
            app.driver.receive(.launched(launch.id, mayBeSilent: false))
            app.driver.receive(.ready(launch.id))
            app.daemon.status?.changed()
            return false
        case .exited where launch.isLetGo:
            say("stopped observing \(app.name), which still runs")
            return false
        default: return true
        }
    }

    /// Requests the restart of the unit from systemd, for `Enforce=restart-unit`.
    func restartUnit(of launch: AppLaunch) {
        guard app.configuration?.observed?.restartsUnit == true, app.current === launch else { return }
        observation?.restart { [weak self] _, text in self?.say(text) }
    }

    /// Whether to suppress the notice: restarts are up to the process's owner.
    func isSilent(about notice: AppNotice) -> Bool {
        if case .decided = notice { app.configuration?.observed != nil } else { false }
    }

    func stop() { observation?.stop() }

    private func say(_ text: String) { app.daemon.announcer.say(text) }
}
