// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration
import WatchdogControl
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

/// One app of the daemon, from launch to launch.
///
/// Isolation: the loop's thread.
final class DaemonApp {
    /// Where it is.
    enum Stage {
        /// It does not run, and nobody is going to start it.
        case stopped
        /// The commands that come before it run.
        case preparing(AppLaunch, Preparation)
        /// It runs, or is being ended.
        case live(AppLaunch)
        /// It is going to be started again.
        case waiting(until: Instant)
        /// It has failed too often, and stays down until somebody launches it.
        case failed
        /// Processes of it outlive SIGKILL; nothing is started beside them.
        case unkillable(AppLaunch)
    }

    /// What is to follow when the present launch has ended.
    enum Wish: String, Codable {
        /// What its configuration says.
        case asConfigured
        /// Nothing.
        case stop
        /// Another launch.
        case relaunch
        /// The app is configured no longer.
        case forget
    }

    /// How long an app may be silent before nobody waits for its word.
    static let silence = Duration.seconds(2)

    let name: String
    unowned let daemon: Daemon
    private(set) var file: String
    private(set) var configuration: AppConfiguration
    var stage = Stage.stopped {
        didSet {
            since = .now()
            daemon.status?.changed()
            remember()
        }
    }
    private(set) var since = Timestamp.now()
    var wish = Wish.asConfigured {
        didSet { remember() }
    }
    var restarts: RestartMachine {
        didSet { remember() }
    }
    /// How often somebody asked for a restart.
    var requestedRestarts = 0
    var lastIncident: IncidentSummary?
    var lastExit: String?
    /// Of the latest launch, which may be over.
    var latest: AppLaunch?
    var launchWaiters: [LaunchWaiter] = []
    var endWaiters: [ControlAnswer<TerminateReply>] = []
    var moveWaiters: [MoveWaiter] = []
    /// The reload that is under way, and who waits for it.
    var reload: AppReload?
    var reloadAnswer: ControlAnswer<ReloadAppReply>?

    /// Launches whose ends were accounted for, as long as something of them is kept: several may wait for their reports.
    var settled: [IncidentID] = []
    /// The launch that was counted last.
    var counted: IncidentID?
    /// Whether something has changed since the state was kept.
    var isUnkept = false
    /// What is taken over is there already.
    var isRestoring = false

    var timer: Timer?
    /// What ``timer`` is for.
    var due: () -> Void = {}
    /// Launches that are over but for their reports.
    var retired: [AppLaunch] = []

    /// Who asked for a launch.
    struct LaunchWaiter {
        let answer: ControlAnswer<LaunchReply>
        /// Whether the answer is to come when the app is ready, not already when it runs.
        let waits: Bool
    }

    init(_ configuration: AppConfiguration, file: String, of daemon: Daemon) {
        name = configuration.name.description
        self.configuration = configuration
        self.file = file
        self.daemon = daemon
        restarts = RestartMachine(settings: configuration.$restart, seed: .random(in: 0 ... .max))
        daemon.store.keep(reportsOf: name, for: configuration.watchdog.reportAge)
    }

    /// The launch that is under way, unless nothing of it can be changed any more.
    var current: AppLaunch? {
        switch stage {
        case .preparing(let launch, _), .live(let launch): launch
        case .stopped, .waiting, .failed, .unkillable: nil
        }
    }

    /// Whether the daemon can end without leaving anything of the app behind that it could still end.
    var isAtRest: Bool { current == nil && retired.isEmpty }

    /// Ends the app, now and for good; said again, it is killed.
    func stop(_ wish: Wish = .stop) {
        self.wish = wish
        // Before the app hears of it: the watchdogd after one that is killed now has to know what is to follow its end.
        keep()
        switch stage {
        case .live(let launch):
            launch.supervisor.requestTermination()
        case .preparing(let launch, let preparation):
            preparation.cancel()
            daemon.later { [self] in
                retire(launch)
                settle(Outcome(cause: .terminated, status: nil, isDeathVerified: true), reason: "it was terminated")
            }
        case .waiting:
            timer?.arm(at: nil)
            settle(Outcome(cause: .terminated, status: nil, isDeathVerified: true), reason: "it was terminated")
        case .stopped, .failed:
            if wish == .forget { daemon.forget(self) }
        case .unkillable:
            break
        }
    }

    /// Takes over a new configuration; an app whose process would be another one is launched anew.
    func update(_ configuration: AppConfiguration, file: String) {
        let previous = self.configuration
        self.configuration = configuration
        self.file = file
        daemon.store.keep(reportsOf: name, for: configuration.watchdog.reportAge)
        if previous.restart != configuration.restart { restarts.update(configuration.$restart) }
        guard !configuration.allowsProcess(of: previous) else {
            if configuration.isEnabled, !previous.isEnabled { begin() }
            return
        }
        switch stage {
        case .live, .preparing: stop(configuration.isEnabled ? .relaunch : .stop)
        case .waiting, .failed: configuration.isEnabled ? begin() : stop()
        // What was stopped by hand, or has done its work, stays down.
        case .stopped: if configuration.isEnabled, !previous.isEnabled { begin() }
        case .unkillable: break
        }
    }
}
