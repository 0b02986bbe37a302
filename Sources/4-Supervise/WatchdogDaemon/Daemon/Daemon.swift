// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration
import WatchdogControl
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogReportStore

/// Runs all apps of one host or user: `watchdogd serve`.
///
/// Isolation: the loop's thread.
final class Daemon {
    let host: Host
    let places: DaemonPlaces
    let store: ReportStore
    /// Whether journal entries contain reports, unless an app's file says otherwise.
    let reportsInJournal: Bool
    let announcer: Announcer
    /// Stores the cause of each app's last failure; nil if that is not requested.
    let lastFailure: LastFailureFile?
    /// The time between a container engine's SIGTERM and its SIGKILL; nil if unknown.
    let gracePeriod: Duration?
    let disks: DiskReading
    /// Stores the history of launches; nil if history is off.
    private(set) var history: LaunchHistory?
    private(set) lazy var configuration = DaemonConfiguration(of: self)
    private(set) lazy var requests = ControlRequests(to: self)
    private(set) lazy var handover = Handover(of: self)
    private(set) lazy var metrics = MetricsCollection(of: self)
    /// The start of the counters, since 1970-01-01 00:00 UTC.
    let started = Duration(since1970: .now())
    private(set) var failedReports = 0
    /// The service manager that owns the apps with `Observe=`.
    private(set) lazy var serviceBus = ServiceBus(to: places.scope == .system ? .system : .user)
    private lazy var lostLaunches = LostLaunches(of: self)

    private(set) var apps: [String: DaemonApp] = [:]
    /// Names in the order of listings.
    private(set) var appNames: [String] = []
    /// Apps with an inherited launch but without a valid configuration.
    private var unconfigured: [String: DaemonApp] = [:]
    /// Apps that are no longer configured, but still have reports to be written.
    private var departing: [DaemonApp] = []
    /// Whether the daemon exits as soon as no app runs.
    private(set) var isStopping = false

    /// The status line in the service manager; nil without one.
    private(set) var status: ServiceStatus?
    private var signOfLife: Timer?

    /// The latest launch, with which the next one shares storage.
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
        disks = try DiskReading(on: host.loop)
        history = try serving.history.map { settings throws(LinuxError) in
            try LaunchHistory(settings, on: host) { [announcer] in announcer.publish($0) }
        }
        postponement = try host.loop.soon(priority: .important) { [unowned self] in doPostponed() }
    }

    /// Runs an action on the next turn of the loop.
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

    /// Loads the configured apps, resumes inherited launches, and launches the other enabled apps.
    func begin(with listing: ConfigurationListing, _ inheritance: Inheritance) {
        configuration.begin(with: listing)
        host.reportWriter.resumeNaming()
        resume(inheritance, known: Set(listing.apps.map(\.name.description)))
    }

    /// Resumes inherited launches, and launches the other enabled apps.
    ///
    /// - Parameter known: the apps with a file, valid or not.
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

    /// Creates an app without a valid configuration for an inherited launch.
    private func unconfiguredApp(_ name: String, _ standing: AppStanding) -> DaemonApp {
        if let app = unconfigured[name] { return app }
        let app = DaemonApp(name, nil, file: "", standing, of: self, resuming: host.survival?.kept(name))
        unconfigured[name] = app
        return app
    }

    /// Removes and returns an app that runs without a configuration, because it now has one.
    func claim(_ name: String) -> DaemonApp? { unconfigured.removeValue(forKey: name) }

    /// Every app that still has a process, a report or saved state.
    var allApps: [DaemonApp] { Array(apps.values) + Array(unconfigured.values) + departing }

    /// Removes an app that is no longer configured, after its process has ended.
    func forget(_ app: DaemonApp) {
        if apps[app.name] === app {
            apps[app.name] = nil
            appNames.removeAll { $0 == app.name }
        } else if unconfigured[app.name] === app {
            unconfigured[app.name] = nil
        }
        // Its reports may still be in progress, and its saved state is removed after this turn.
        departing.append(app)
        status?.changed()
    }

    /// Shares storage with the previous launch.
    func share(_ launching: inout LaunchConfiguration) {
        if let latest { launching.share(with: latest) }
        latest = launching
    }

    func reportFailed() { failedReports += 1 }

    // MARK: - The service manager

    /// Reports to the service manager that all enabled apps have been started, and starts to answer its watchdog from
    /// the loop.
    ///
    /// From then on, the status line shows the number of apps in each state.
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

    /// Sends `WATCHDOG=1` for `WatchdogSec=` from a timer of the loop, so that a blocked loop stops it.
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

    /// Terminates every app, and exits when all have ended; a second call kills those that still run.
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
