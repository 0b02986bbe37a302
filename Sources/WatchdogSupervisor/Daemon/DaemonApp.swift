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
    private(set) var stage = Stage.stopped {
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
    private var isUnkept = false
    /// What is taken over is there already.
    private var isRestoring = false

    private var timer: Timer?
    /// What ``timer`` is for.
    private var due: () -> Void = {}
    /// Launches that are over but for their reports.
    private(set) var retired: [AppLaunch] = []

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

    // MARK: - Launching

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

    private func noteLaunchFailure(_ reason: String) {
        let message = "could not be started: \(reason)"
        daemon.publish(.launchFailed, of: self, message)
        lastIncident = IncidentSummary(kind: .spawn, time: .now(), summary: message)
    }

    // MARK: - Ending

    func ended(_ launch: AppLaunch, _ outcome: Outcome) {
        guard current === launch else { return }
        abandonMoves()
        lastExit = outcome.status?.words
        // One that the watchdogd before this one owed is being written already.
        if launch.kernel.owedCrash == nil, let crash = launch.supervisor.crash(in: outcome) {
            launch.kernel.reportCrash(crash)
        }
        guard outcome.isDeathVerified else {
            stage = .unkillable(launch)
            for waiter in launchWaiters { waiter.answer.fail(.unkillable(name, pid: launch.pid)) }
            for answer in endWaiters { answer.fail(.unkillable(name, pid: launch.pid)) }
            (launchWaiters, endWaiters) = ([], [])
            lookAgain(at: launch, outcome)
            daemon.appCameToRest()
            return
        }
        settled.append(launch.kernel.configuration.launchID)
        // Before the launch's own state is given up.
        remember()
        let causedByMemory = launch.kernel.mayHaveEndedForMemory
        retire(launch)
        let reason = launch.supervisor.spawnFailure.map { "\($0)" } ?? outcome.status?.words ?? "it ended"
        if outcome.cause == .spawnFailed {
            noteLaunchFailure(reason)
        } else if case .exited = outcome.cause, let status = outcome.status, wish == .asConfigured {
            noteExit(status, of: launch)
        }
        settle(outcome, reason: reason, causedByMemory: causedByMemory)
    }

    /// An end that nobody asked for, and that the watchdog did not bring about.
    private func noteExit(_ status: ExitStatus, of launch: AppLaunch) {
        switch status {
        case .exited(code: 0):
            guard launch.kernel.leftBehind > 0 else { return }
            let words = Narration(name: name, verbosity: .quiet).words(forLeaving: launch.kernel.leftBehind)
            lastIncident = IncidentSummary(kind: .exit, time: .now(), summary: words)
            daemon.publish(.leftBehind, of: self, words, launch.kernel.subject, status: status)
        case .exited: lastIncident = IncidentSummary(kind: .exit, time: .now(), summary: status.words)
        case .signaled: lastIncident = IncidentSummary(kind: .crash, time: .now(), summary: status.words)
        case .unknown: break
        }
    }

    /// Decides what follows an end.
    func settle(_ outcome: Outcome, reason: String, causedByMemory: Bool = false) {
        for answer in endWaiters { answer.succeed(TerminateReply(isGone: true)) }
        endWaiters = []
        stage = .stopped
        let decision =
            wish == .asConfigured
            ? restarts.ended(outcome, causedByMemory: causedByMemory, at: daemon.host.loop.now) : nil
        if wish != .relaunch { answerLaunch(endedAs: outcome, decision, reason: reason) }
        switch wish {
        case .stop: daemon.appCameToRest()
        case .forget: daemon.forget(self)
        case .relaunch:
            restarts.reset()
            // Not at once: a launch that fails comes back here.
            wait(until: daemon.host.loop.now)
        case .asConfigured:
            if let decision { follow(decision, outcome) }
        }
    }

    /// One that ends well, and is to be left at that, was launched: it has done its work.
    private func answerLaunch(endedAs outcome: Outcome, _ decision: RestartDecision?, reason: String) {
        var isDone = false
        if case .stay? = decision, outcome.cause == .exited, outcome.status == .exited(code: 0) { isDone = true }
        for waiter in launchWaiters {
            if isDone {
                waiter.answer.succeed(LaunchReply(ended: reason))
            } else {
                waiter.answer.fail(.launchFailed(name, reason: reason))
            }
        }
        launchWaiters = []
    }

    private func follow(_ decision: RestartDecision, _ outcome: Outcome) {
        switch decision {
        case .restart(let instant, let cause):
            let delay = instant - daemon.host.loop.now
            daemon.publish(
                .restarting, of: self,
                "restarting " + (delay > .milliseconds(1) ? "in \(delay.brief)" : "at once") + " (\(cause.rawValue)): "
                    + Narration(name: name, verbosity: .quiet).words(for: outcome))
            wait(until: instant)
        case .limitReached(let cause, let next):
            let limit = restarts.reachedLimit.map { ": \(LimitSummary($0).words)" } ?? ""
            let consequence = next.map { "next attempt in \(($0 - daemon.host.loop.now).brief)" }
            daemon.publish(
                .limitReached, of: self,
                "failed too often (\(cause.rawValue))\(limit); "
                    + (consequence ?? "it stays down until \"watchdogd launch \(name)\""))
            if let next { wait(until: next) } else { stage = .failed }
        case .stay:
            break
        }
        daemon.appCameToRest()
    }

    func wait(until instant: Instant) {
        stage = .waiting(until: instant)
        arm(at: instant) { [unowned self] in begin() }
    }

    /// A process that cannot be killed may still end one day.
    private func lookAgain(at launch: AppLaunch, _ outcome: Outcome) {
        guard case .unkillable(let present) = stage, present === launch else { return }
        guard !launch.isGone else {
            retire(launch)
            daemon.say("\(name): the processes that SIGKILL did not end are gone")
            return settle(
                Outcome(cause: outcome.cause, status: outcome.status, isDeathVerified: true), reason: "it was killed")
        }
        arm(at: daemon.host.loop.now + .seconds(1)) { [unowned self] in lookAgain(at: launch, outcome) }
    }

    private func arm(at instant: Instant, _ action: @escaping () -> Void) {
        do {
            try setTimer(at: instant, action)
        } catch {
            let message = "cannot be restarted: \(error)"
            lastIncident = IncidentSummary(kind: .spawn, time: .now(), summary: message)
            stage = .failed
            daemon.say("\(name) \(message)")
        }
    }

    /// Does something while a launch runs; without a timer, never.
    func whenLive(at instant: Instant, _ action: @escaping () -> Void) { try? setTimer(at: instant, action) }

    private func setTimer(at instant: Instant, _ action: @escaping () -> Void) throws(LinuxError) {
        due = action
        // Apps that fail again and again take turns with whoever asks for their end.
        if timer == nil { timer = try daemon.host.loop.timer(priority: .last) { [unowned self] _ in due() } }
        timer?.arm(at: instant)
    }

    /// Gives a launch up when its last report is written.
    func retire(_ launch: AppLaunch) {
        if launch.hasPendingReports {
            if !retired.contains(where: { $0 === launch }) { retired.append(launch) }
        } else {
            retired.removeAll { $0 === launch }
            launch.kernel.stop()
            forgetState(of: launch)
            daemon.appCameToRest()
        }
    }

    // MARK: - Survival

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
    private func forgetState(of launch: AppLaunch) {
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

    // MARK: - Requests

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
