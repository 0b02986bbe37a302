// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration
import WatchdogControl
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

extension DaemonApp {
    // MARK: - Keeping

    /// Keeps the state for the next watchdogd when what is being done now is over.
    func remember() {
        guard !isUnkept, !isRestoring else { return }
        isUnkept = true
        daemon.later { [self] in
            if isUnkept { keep() }
        }
    }

    /// Keeps the state for the next watchdogd, which begins anew with apps that an orderly end has brought to rest.
    func keep() {
        isUnkept = false
        guard let survival = daemon.host.survival else { return }
        if daemon.apps[name] !== self || (daemon.isStopping && current == nil) {
            survival.forget(app: name)
        } else {
            survival.keep(kept, of: name)
        }
    }

    /// After the app's own state is kept: a launch that is neither there nor accounted for would be lost.
    func forgetState(of launch: AppLaunch) {
        guard let keeper = launch.kernel.keeper else { return }
        launch.kernel.keeper = nil
        daemon.later { [self] in
            daemon.host.survival?.forget(keeper)
            settled.removeAll { $0 == launch.kernel.configuration.launchID }
        }
    }

    /// Goes on with a launch that was under way before the app was known.
    func takeOver(_ launch: AppLaunch) {
        timer?.arm(at: nil)
        latest = launch
        counted = launch.kernel.configuration.launchID
        connect(launch)
        stage = .live(launch)
    }

    /// Does something that changes nothing about what is kept.
    func restoring(_ body: () -> Void) {
        isRestoring = true
        body()
        isRestoring = false
    }

    /// Takes over a stage in which nothing runs.
    func restore(_ stage: Stage) {
        self.stage = stage
    }

    /// What the next watchdogd is to know of the app, besides its launch.
    var kept: KeptApp {
        let stage: KeptApp.Stage =
            switch stage {
            case .stopped: .stopped
            case .preparing: .preparing
            case .live: .live
            case .waiting(let instant): .waiting(until: instant)
            case .failed: .failed
            case .unkillable: .unkillable
            }
        // The end of watchdogd is no end of the app for good.
        let wish = daemon.isStopping ? (configuration.isEnabled ? .relaunch : .stop) : wish
        return KeptApp(
            stage: stage, wish: wish, restarts: restarts, requestedRestarts: requestedRestarts, settled: settled,
            counted: counted, lastIncident: lastIncident, lastExit: lastExit)
    }

    // MARK: - Going on

    /// Takes over what the watchdogd before this one knew.
    func restore(_ kept: KeptApp) {
        restoring {
            restarts = kept.restarts
            restarts.update(configuration.$restart)
            requestedRestarts = kept.requestedRestarts
            settled = kept.settled
            counted = kept.counted
            lastIncident = kept.lastIncident
            lastExit = kept.lastExit
            // It has a file: one that was taken away while it ran is there again.
            wish = kept.wish == .forget ? .relaunch : kept.wish
        }
    }

    /// Goes on with a launch of the watchdogd before this one.
    ///
    /// - Returns: false when its end was accounted for already, so that what follows is not decided here.
    func resume(_ launch: AppLaunch, _ inherited: InheritedLaunch) -> Bool {
        let launchID = inherited.state.launchID
        guard !settled.contains(launchID) else {
            resumeReports(of: launch, inherited)
            return false
        }
        let isCounted = counted == launchID
        restoring {
            takeOver(launch)
            // Launched after the app was saved last: what was wished before that is done.
            if !isCounted { wish = .asConfigured }
        }
        let wasOver = launch.supervisor.machine.phase
        if let reload = inherited.state.reload { resume(reload, of: launch) }
        let isThere = launch.kernel.resume(inherited)
        let hasRun = isThere || launch.kernel.hasRun
        if !isCounted, hasRun { restarts.launched(at: launch.launchedAt ?? daemon.host.loop.now) }
        guard isThere else {
            restore(.stopped)
            if hasRun {
                settled.append(launchID)
                // The main process is the app: what it has left is ended with it.
                try? launch.kernel.cgroup?.kill()
            }
            retire(launch)
            // The process was about to be started, and was not, unless there are traces of it.
            hasRun ? endedUnseen() : begin()
            return true
        }
        if wish != .asConfigured, !launch.supervisor.machine.isEnding { launch.supervisor.requestTermination() }
        if case .ended(let outcome) = wasOver {
            daemon.later { [self] in ended(launch, outcome) }
        }
        return true
    }

    /// Its end was accounted for, or another launch has followed it; what may be missing is a report.
    func resumeReports(of launch: AppLaunch, _ inherited: InheritedLaunch) {
        connect(launch)
        inherited.state.reload?.command?.end()
        _ = launch.kernel.resume(inherited)
        retire(launch)
    }

    /// Goes on where the app was while nothing of it runs.
    ///
    /// - Parameter stage: where it was; nil when that is not known.
    func goOn(from stage: KeptApp.Stage?) {
        switch stage {
        case nil, .unkillable:
            if configuration.isEnabled { begin() }
        case .stopped: break
        case .failed: restore(.failed)
        case .preparing:
            // Its commands were being ended.
            if wish != .stop { begin() }
        case .waiting(let instant): wait(until: max(instant, daemon.host.loop.now))
        case .live: endedUnseen()
        }
    }

    private func endedUnseen() {
        daemon.say("\(name) has ended while nothing is known of it")
        lastExit = nil
        settle(Outcome(cause: .exited, status: .unknown, isDeathVerified: true), reason: "it has ended")
    }
}
