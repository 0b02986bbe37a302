// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration
import WatchdogControl
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogReportStore

/// All apps of one host or user: what `watchdogd serve` runs.
///
/// Isolation: the loop's thread.
final class Daemon {
    let host: Host
    let places: DaemonPlaces
    let store: ReportStore
    /// Whether journal entries carry reports of apps that do not say no.
    let reportsInJournal: Bool
    let announcer: Announcer
    /// Keeps why an app failed last; nil if nobody wants to know.
    let lastFailure: LastFailureFile?
    /// The time from an engine's request to end the container to its kill; nil if it is not known.
    let gracePeriod: Duration?
    let disks: DiskReading
    /// Keeps launches; nil if none are kept.
    private(set) var history: LaunchHistory?
    private(set) lazy var configuration = DaemonConfiguration(of: self)
    private(set) lazy var requests = ControlRequests(to: self)
    private(set) lazy var handover = Handover(of: self)
    private(set) lazy var metrics = MetricsCollection(of: self)
    /// When it began to count, since 1970-01-01 00:00 UTC.
    let started = Duration(since1970: .now())
    /// Reports that could not be written.
    private(set) var failedReports = 0
    /// The service manager that owns the apps with `Observe=`.
    private(set) lazy var serviceBus = ServiceBus(to: places.scope == .system ? .system : .user)
    private lazy var lostLaunches = LostLaunches(of: self)

    private(set) var apps: [String: DaemonApp] = [:]
    /// In the order in which lists have them.
    private(set) var appNames: [String] = []
    /// Apps with a launch of the previous watchdogd, and without a valid configuration.
    private var unconfigured: [String: DaemonApp] = [:]
    /// Apps that are no longer configured, until their last reports are written.
    private var departing: [DaemonApp] = []
    /// Whether it ends as soon as nothing runs.
    private(set) var isStopping = false

    /// What a service manager shows of the daemon; nil without one.
    private(set) var status: ServiceStatus?
    private var signOfLife: Timer?

    /// The latest launch.
    private var latest: LaunchConfiguration?
    private var postponed: [() -> Void] = []
    private var postponement: CallSource?

    init(_ serving: ServeConfiguration, host: Host, store: ReportStore) throws {
        self.host = host
        reportsInJournal = serving.reportsInJournal
        places = serving.places
        self.store = store
        announcer = Announcer(on: host.loop, host.log, verbosity: serving.verbosity)
        lastFailure = serving.terminationMessage.flatMap { LastFailureFile($0) }
        gracePeriod = serving.gracePeriod
        disks = DiskReading(on: host)
        history = try serving.history.map { settings throws(LinuxError) in
            try LaunchHistory(settings, on: host) { [announcer] in announcer.publish($0) }
        }
        postponement = try host.loop.soon(priority: .important) { [unowned self] in doPostponed() }
    }

    /// Does something after the current work.
    func later(_ action: @escaping () -> Void) {
        if postponed.isEmpty { postponement?.callAgain() }
        postponed.append(action)
    }

    func doPostponed() {
        let actions = postponed
        postponed = []
        for action in actions { action() }
    }

    // MARK: - Start

    /// Takes the apps that are configured when the daemon starts, resumes what the previous watchdogd left of them, and
    /// launches what else is enabled.
    func begin(with listing: ConfigurationListing, _ inheritance: Inheritance) {
        configuration.begin(with: listing)
        host.reportWriter.takeUpLeftNames()
        resume(inheritance, known: Set(listing.apps.map(\.name.description)))
    }

    /// Resumes what the previous watchdogd left, and launches what else is enabled.
    ///
    /// - Parameter known: the apps that have files, valid or not.
    private func resume(_ inheritance: Inheritance, known: Set<String>) {
        host.endCommands(of: inheritance.launches)
        for problem in inheritance.problems { announcer.say("\(problem); one launch's state is lost") }
        for launch in inheritance.latestFirst {
            let name = launch.state.name
            do {
                let app = apps[name] ?? unconfiguredApp(name, known.contains(name) ? .invalid : .removed)
                try app.inherit(launch)
            } catch {
                announcer.say("\(name): cannot resume the launch that the previous watchdogd started: \(error)")
            }
        }
        host.survival?.forgetApps(besides: known)
        for launch in inheritance.unreadable {
            lostLaunches.adopt(launch.launchID, launch.descriptors, file: launch.file)
        }
        for name in appNames {
            if let app = apps[name], app.machine.isInheriting { lostLaunches.adoptInstance(of: app) }
        }
        for app in allApps { app.driver.receive(.begun) }
    }

    // MARK: - Apps

    func add(_ new: [DaemonApp]) {
        for app in new { apps[app.name] = app }
        appNames = apps.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        status?.changed()
    }

    /// The app without a valid configuration to which a launch of the previous watchdogd belongs.
    private func unconfiguredApp(_ name: String, _ standing: AppStanding) -> DaemonApp {
        if let app = unconfigured[name] { return app }
        let app = DaemonApp(name, nil, file: "", standing, of: self, resuming: host.survival?.kept(name))
        unconfigured[name] = app
        return app
    }

    /// An app that runs without a configuration, for the configuration that it gets.
    func claim(_ name: String) -> DaemonApp? { unconfigured.removeValue(forKey: name) }

    /// Every app that still has a process, a report or saved state.
    var allApps: [DaemonApp] { Array(apps.values) + Array(unconfigured.values) + departing }

    /// An app is no longer configured, and its process has ended.
    func forget(_ app: DaemonApp) {
        if apps[app.name] === app {
            apps[app.name] = nil
            appNames.removeAll { $0 == app.name }
        } else if unconfigured[app.name] === app {
            unconfigured[app.name] = nil
        }
        // Its reports may still be written, and what is saved of it is removed after this turn.
        departing.append(app)
        status?.changed()
    }

    /// Keeps what a launch has in common with the one before it only once.
    func share(_ launching: inout LaunchConfiguration) {
        if let latest { launching.share(with: latest) }
        latest = launching
    }

    /// A report could not be written.
    func reportFailed() { failedReports += 1 }

    // MARK: - The service manager

    /// Tells a service manager that all enabled apps have been started, and answers its watchdog from the loop.
    ///
    /// From then on, it gets the number of apps in each state.
    func announceReadiness() {
        guard let notifier = host.survival?.notifier else { return }
        let line = statusLine
        notifier.say(["READY=1", "STATUS=\(line)"])
        do {
            try answerWatchdog(notifier)
            status = try ServiceStatus(on: host.loop, line: { [unowned self] in statusLine }) {
                notifier.mention("STATUS=\($0)")
            }
            status?.noteSaid(line)
        } catch {
            announcer.say("cannot notify the service manager: \(error)")
        }
    }

    /// `WatchdogSec=`: signs of life come from the loop, in between its other work.
    private func answerWatchdog(_ notifier: ServiceNotifier) throws {
        guard let interval = ServiceManager.watchdogInterval else { return }
        let loop = host.loop
        let timer = try loop.timer(priority: .idle) { [unowned self] _ in
            notifier.mention("WATCHDOG=1")
            signOfLife?.arm(at: loop.now + interval / 2)
        }
        signOfLife = timer
        timer.arm(at: loop.now)
    }

    private var statusLine: String {
        ControlText.total(of: apps.values.map { AppState(of: $0) }, invalidFiles: configuration.invalidFiles.count)
    }

    // MARK: - The end

    /// Asks every app to end, and ends when all have; a second call kills what still runs.
    func stop() {
        if !isStopping {
            isStopping = true
            host.survival?.notifier?.say(["STOPPING=1"])
        }
        for app in allApps { app.driver.receive(.shutDown) }
        appCameToRest()
    }

    func appCameToRest() {
        departing.removeAll(where: \.machine.isAtRest)
        guard isStopping, allApps.allSatisfy(\.machine.isAtRest) else { return }
        host.loop.exit(code: 0)
    }
}
