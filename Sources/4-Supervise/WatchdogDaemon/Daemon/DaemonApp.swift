// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration
import WatchdogControl
import WatchdogLaunch
import WatchdogLinux
import WatchdogMetrics
import WatchdogPolicy
import WatchdogReport
import WatchdogReportStore

/// Executes the effects of an app's ``AppMachine`` in the daemon.
///
/// Isolation: the loop's thread.
final class DaemonApp {
    /// The cause of a launch without a request or a previous end.
    private static let ordinaryCause = "start"
    /// The restart settings of an app without a configuration.
    private static let defaultRestart = Shared(wrappedValue: RestartSettings())

    let name: String
    unowned let daemon: Daemon
    private(set) var file: String
    /// Nil if the file is invalid; an inherited launch runs without a configuration.
    private(set) var configuration: AppConfiguration?
    let driver: AppDriver
    /// The launches that still have a process, sockets or a report to be written.
    private(set) var launches: [LaunchID: AppLaunch] = [:]
    /// The latest launch, which may be over.
    private(set) var latest: AppLaunch?
    /// The time at which the app entered its phase.
    private(set) var since = Timestamp.now()
    let notices: AppNotices
    let creation: LaunchCreation
    private(set) lazy var moves = AppMoves(of: self)
    var observing: AppObserving?
    private(set) lazy var reloads = AppReloads(of: self)

    private(set) var meter = AppMeter()

    private var phase: AppPhase
    private var preparation: Preparation?
    /// The event that causes the next launch; nil without one.
    private var launchingEvent: LaunchingEvent?
    /// The lane of the history's blocking calls, separate so that they delay no launch.
    let historyLane: Int
    private var replies = PendingReplies()
    /// The cause of the next launch.
    private var launchCause = DaemonApp.ordinaryCause
    private var (isUnsaved, isForgotten) = (false, false)

    /// - Parameter kept: the state that the previous watchdogd saved of the app.
    init(
        _ name: String, _ configuration: AppConfiguration?, file: String, _ standing: AppStanding, of daemon: Daemon,
        resuming kept: KeptApp? = nil
    ) {
        self.name = name
        self.configuration = configuration
        self.file = file
        self.daemon = daemon
        notices = AppNotices(of: name, by: daemon, resuming: kept)
        creation = LaunchCreation(of: name, by: daemon)
        historyLane = daemon.host.makeKey()
        driver = AppDriver(
            AppMachine(
                standing, restart: configuration?.$restart ?? Self.defaultRestart, seed: .random(in: 0 ... .max),
                resuming: kept?.saved),
            on: daemon.host.loop)
        phase = driver.machine.phase
        driver.perform = { [unowned self] in perform($0) }
        driver.onHandled = { [unowned self] in handled() }
        driver.mayLaunchAtOnce = { [unowned daemon] in daemon.host.launchTurn.isFree }
        keepReports()
    }

    var machine: AppMachine { driver.machine }

    /// The current launch, which can still be signaled and terminated.
    var current: AppLaunch? { machine.current.flatMap { launches[$0] } }

    /// The current launch if its process was started.
    var live: AppLaunch? {
        if case .live(let launch) = machine.phase { launches[launch] } else { nil }
    }

    // MARK: - Events

    /// Handles a client's request for a launch or a restart; without a cause, the history shows the kind of the request.
    func request(
        _ event: (AppWaiter) -> AppEvent, waits: Bool, cause: String? = nil, _ answer: ControlAnswer<LaunchReply>
    ) {
        let event = event(replies.add(answer, waits: waits))
        if case .restartRequested = event { launchCause = "restart" } else { launchCause = cause ?? "request" }
        driver.receive(event)
    }

    /// The cause of the launch that starts now; resets it to the default.
    func takeLaunchCause() -> String {
        defer { launchCause = Self.ordinaryCause }
        return launchCause
    }

    /// Handles a client's request for a launch with an event.
    func launch(for event: LaunchingEvent, waits: Bool, _ answer: ControlAnswer<LifecycleReply>) {
        launchingEvent = event
        if waits { moves.expect(event.request, answer) }
        let launched = ControlAnswer<LaunchReply> { [weak self, name] result in
            switch result {
            case .success(let reply) where reply.ended == nil:
                if !waits { answer.succeed(LifecycleReply(state: .launching)) }
                return
            case .success: answer.fail(.notRunning(name))
            case .failure(let error): answer.fail(error)
            }
            self?.moves.forget(answer)
        }
        request(AppEvent.launchRequested, waits: false, cause: "event", launched)
    }

    /// Handles a client's request to terminate the app.
    func requestTermination(waits: Bool, _ answer: ControlAnswer<TerminateReply>) {
        driver.receive(.terminationRequested(replies.add(answer, waits: waits)))
    }

    /// Applies a new configuration.
    func update(_ configuration: AppConfiguration, file: String) {
        let needsNewProcess = self.configuration.map { !configuration.allowsProcess(of: $0) } ?? false
        self.configuration = configuration
        self.file = file
        keepReports()
        driver.receive(
            .configured(
                restart: configuration.$restart, isEnabled: configuration.isEnabled, needsNewProcess: needsNewProcess))
    }

    private func keepReports() {
        guard let configuration else { return }
        daemon.store.keep(reportsOf: name, as: configuration.watchdog)
        notices.reportsInJournal = daemon.reportsInJournal && configuration.watchdog.reportsInJournal
    }

    func count(_ event: (inout AppMeter) -> Void) { event(&meter) }

    /// Called after all effects of an event have been executed.
    private func handled() {
        if phase != machine.phase {
            phase = machine.phase
            since = .now()
            daemon.status?.changed()
        }
        if machine.isAtRest { daemon.appCameToRest() }
    }

    // MARK: - Effects

    private func perform(_ effect: AppEffect) {
        switch effect {
        case .create: create()
        case .cancelCreation:
            creation.cancel()
            observing?.stop()
        case .prepare(let id): if let launch = launches[id] { prepare(launch) }
        case .cancelPreparation: preparation?.cancel()
        case .start(let id): launches[id]?.begin()
        case .resume(let id): if let launch = launches[id] { resume(launch) }
        case .adopt(let id): launches[id]?.adopt()
        case .terminate(let id): launches[id]?.end()
        case .killRemains(let id): try? launches[id]?.shell.cgroup?.kill()
        case .inspect(let id):
            guard let launch = launches[id] else { break }
            driver.answer(.inspected(id, isSilent: launch.isSilent, isGone: launch.isGone))
        case .release(let id): if let launch = launches.removeValue(forKey: id) { release(launch) }
        case .save: save()
        case .saveSoon: saveSoon()
        case .forget:
            isForgotten = true
            daemon.host.survival?.forget(app: name)
            daemon.forget(self)
        case .answer(let id, let answer): replies.answer(id, answer, of: name) { launches[$0]?.pid }
        case .publish(let notice):
            if case .decided(.restart(_, let cause), _, _) = notice { launchCause = cause.rawValue }
            if case .launchFailed = notice { meter.launchFailed() }
            if observing?.isSilent(about: notice) == true { break }
            notices.publish(notice) { launches[$0] }
        }
    }

    /// Saves the state for the next watchdogd.
    func save() {
        isUnsaved = false
        guard let survival = daemon.host.survival, !isForgotten else { return }
        // The next watchdogd searches for an observed process, so nothing is saved for it.
        if configuration?.observed == nil, let saved = machine.saved {
            survival.keep(KeptApp(saved, lastIncident: notices.lastIncident, lastExit: notices.lastExit), of: name)
        } else {
            survival.forget(app: name)
        }
    }

    func takeLaunchingEvent() -> LaunchingEvent? {
        defer { launchingEvent = nil }
        return launchingEvent
    }

    private func saveSoon() {
        guard !isUnsaved else { return }
        isUnsaved = true
        daemon.later { [self] in
            if isUnsaved { save() }
        }
    }

    private func prepare(_ launch: AppLaunch) {
        preparation = Preparation(configuration?.program.preparations ?? [], of: launch.shell) {
            [unowned self] failure in
            guard let failure else { return driver.receive(.prepared(launch.id)) }
            // Deferred, because the launch is still handling the failure.
            daemon.later { [self] in
                notices.notStarted()
                driver.receive(.preparationFailed(launch.id, reason: failure))
            }
        }
        preparation?.begin()
    }

    private func release(_ launch: AppLaunch) {
        launch.shell.stop()
        daemon.later { [self] in
            if let keeper = launch.shell.keeper { daemon.host.survival?.forget(keeper) }
            launch.shell.keeper = nil
            driver.receive(.released(launch.id))
        }
    }

    /// The launches that the next watchdogd resumes; without preparations, which start again.
    func handOver() -> [AppLaunch] {
        guard case .preparing(let id) = machine.phase else { return Array(launches.values) }
        preparation?.cancel()
        return launches.filter { $0.key != id }.map(\.value)
    }

    // MARK: - Launches

    /// Registers a launch, so that its effects are executed.
    func add(_ launch: AppLaunch) {
        launches[launch.id] = launch
        connect(launch)
    }

    /// Makes this launch the one that status shows.
    func show(_ launch: AppLaunch) { latest = launch }
}
