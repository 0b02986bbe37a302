// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration
import WatchdogLinux
import WatchdogPolicy

/// Observes the process of an app that someone else owns, over all its restarts; an app that this daemon never observed
/// has none.
///
/// Isolation: the loop's thread.
final class AppObserving {
    private unowned let app: DaemonApp
    /// Nil before the process was looked for.
    private var observation: Observation?

    init(of app: DaemonApp) {
        self.app = app
    }

    /// Looks for the process of an app that someone else owns; its launch is created once there is one.
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
        // The service has another main process although the former one lives: the machine asks for it again.
        guard app.machine.phase == .creating, let configuration = app.configuration else {
            observation?.stop()
            app.current?.end()
            return
        }
        do {
            let probe = configuration.watchdog.probe
            try ObservedPushes.checkJudgeable(observation?.target ?? .process(process.process.pid), probe, unit)
            var launching = process.configuration(configuration.spec, probe?.target, store: app.daemon.store)
            launching.version = configuration.program.version
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

    /// Handles a notice about a process that someone else owns.
    ///
    /// - Returns: whether it is a notice like those about other apps.
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

    /// Asks systemd for what `Enforce=restart-unit` says.
    func restartUnit(of launch: AppLaunch) {
        guard app.configuration?.observed?.restartsUnit == true, app.current === launch else { return }
        observation?.restart { [weak self] _, text in self?.say(text) }
    }

    /// Whether to report nothing: what follows the end of an observed process is its owner's business.
    func isSilent(about notice: AppNotice) -> Bool {
        if case .decided = notice { app.configuration?.observed != nil } else { false }
    }

    /// Stops searching.
    func stop() { observation?.stop() }

    private func say(_ text: String) { app.daemon.announcer.say(text) }
}
