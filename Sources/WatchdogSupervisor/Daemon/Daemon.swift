// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import WatchdogConfiguration
import WatchdogControl
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogWire

/// All apps of one host or user: what `watchdogd serve` runs.
///
/// Isolation: the loop's thread.
final class Daemon {
    let host: Host
    let places: DaemonPlaces
    let store: ReportStore
    let verbosity: RunConfiguration.Verbosity
    /// Reads disks, so that the loop does not wait for them.
    let reading = DispatchQueue(label: "org.watchdogd.reading")

    private(set) var apps: [String: DaemonApp] = [:]
    /// In the order in which lists have them.
    private(set) var appNames: [String] = []
    /// Apps that are configured no longer, until their last reports are written.
    private var departing: [DaemonApp] = []
    /// The files that cannot be used.
    var invalidFiles: [InvalidFile] = []
    var control: ControlServer?
    var reloads: [Int: ControlAnswer<ReloadReply>?] = [:]
    var reportRequests: [Int: ControlAnswer<ReportsReply>] = [:]
    var logRequests: [Int: ([LogLine]) -> Void] = [:]
    private var nextToken = 1
    /// Whether it ends as soon as nothing runs any more.
    private(set) var isStopping = false

    /// Launches of the watchdogd before this one whose apps are not configured, or not validly.
    var unclaimed: [AppLaunch] = []
    /// Descriptors of launches of which nothing else is known.
    var lostDescriptors: [String: InheritedDescriptors] = [:]
    /// Whether it ends without ending its apps.
    var isLeaving = false
    var reexecution: Timer?
    /// What a service manager shows of the daemon; nil without one.
    private(set) var status: ServiceStatus?
    private var signOfLife: Timer?

    /// What was launched last.
    private var latest: LaunchConfiguration?
    private var postponed: [() -> Void] = []
    private var postponement: CallSource?
    private var limiter = RateLimiter(capacity: 200, refillPerSecond: 50)
    /// The journal holds more, and asks for it: a thousand apps may be launched at once.
    private var recordLimiter = RateLimiter(capacity: 4_000, refillPerSecond: 200)
    private var unsaid = 0

    init(host: Host, places: DaemonPlaces, store: ReportStore, verbosity: RunConfiguration.Verbosity) throws {
        self.host = host
        self.places = places
        self.store = store
        self.verbosity = verbosity
        postponement = try host.loop.soon(priority: .important) { [unowned self] in doPostponed() }
        host.onDaemonMessage = { [unowned self] in received($0) }
    }

    /// Does something when what is being done now is over.
    func later(_ action: @escaping () -> Void) {
        if postponed.isEmpty { postponement?.callAgain() }
        postponed.append(action)
    }

    func doPostponed() {
        let actions = postponed
        postponed = []
        for action in actions { action() }
    }

    /// A number by which what is read beside the loop finds back to who asked for it.
    func token() -> Int {
        defer { nextToken += 1 }
        return nextToken
    }

    private func received(_ message: DaemonMessage) {
        switch message {
        case .configurationRead(let token, let result): configurationRead(token, result)
        case .reportsListed(let token, let result): reportsListed(token, result)
        case .logRead(let token, let lines): logRead(token, lines)
        }
    }

    // MARK: - Apps

    func add(_ new: [DaemonApp]) {
        for app in new { apps[app.name] = app }
        appNames = apps.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        status?.changed()
    }

    /// An app is configured no longer, and nothing of it runs.
    func forget(_ app: DaemonApp) {
        guard apps[app.name] === app else { return }
        apps[app.name] = nil
        appNames.removeAll { $0 == app.name }
        if !app.isAtRest { departing.append(app) }
        status?.changed()
        appCameToRest()
    }

    /// Keeps what a launch has in common with the one before it only once.
    func share(_ launching: inout LaunchConfiguration) {
        if let latest { launching.share(with: latest) }
        latest = launching
    }

    /// Standard streams for a launch, as the configuration has them.
    func streams(for configuration: AppConfiguration, _ launching: LaunchConfiguration) throws -> StandardStreams {
        let streams = try StandardStreams(opening: OutputPlan(configuration.program), identifier: launching.name)
        if let refusal = streams.journalRefusal {
            let subject = EventSubject(app: launching.name, launch: launching.launchID.description)
            host.journalRefused(refusal, subject)
        }
        return streams
    }

    // MARK: - The service manager

    /// Tells a service manager that all enabled apps have been started, and answers its watchdog from the loop.
    ///
    /// From then on it is told how many apps are in which state.
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
            say("the service manager does not hear of this service: \(error)")
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
        ControlText.total(of: apps.values.map(\.state), invalidFiles: invalidFiles.count)
    }

    // MARK: - The end

    /// Asks every app to end, and ends when all have; said again, what still runs is killed.
    func stop() {
        if !isStopping {
            isStopping = true
            host.survival?.notifier?.say(["STOPPING=1"])
        }
        for app in apps.values { app.stop() }
        for launch in unclaimed { launch.supervisor.requestTermination() }
        appCameToRest()
    }

    func appCameToRest() {
        departing.removeAll(where: \.isAtRest)
        guard isStopping, unclaimed.isEmpty, departing.isEmpty, apps.values.allSatisfy(\.isAtRest) else { return }
        host.loop.exit(code: 0)
    }

    // MARK: - Telling

    /// A line for the operator.
    func say(_ line: String) { tell(line, nil) }

    /// A line for the operator, and an entry for the journal.
    func tell(_ line: String?, _ entry: @autoclosure () -> JournalEntry?) {
        let now = host.loop.now.nanoseconds
        if host.log.hasJournal, recordLimiter.admit(at: now), host.log.record(entry()) { return }
        guard let line else { return }
        guard limiter.admit(at: now), StandardError.mention(line) else {
            unsaid += 1
            return
        }
        guard unsaid > 0 else { return }
        let text = "messages left out, because they were too many or nobody read them: \(unsaid)"
        if host.log.tell(JournalEntry(.messagesDropped, text), line: text) { unsaid = 0 }
    }

    /// Tells what a machine says.
    func publish(_ notice: Notice, of app: DaemonApp, _ subject: EventSubject) {
        status?.changed()
        let narration = Narration(name: app.name, verbosity: .verbose)
        // An incident is told when its report is written, the beginning of it only to those who watch.
        if case .transgressed(let incident) = notice {
            tell(.exhausted, of: app, narration.exhausted(by: incident), pid: subject.pid)
            return
        }
        guard let line = narration.line(for: notice) else { return }
        tell(ControlEvent.Kind(notice), of: app, narration.withoutName(line), pid: subject.pid)
        tell(
            Narration(name: app.name, verbosity: verbosity).line(for: notice),
            JournalEntry(notice, about: subject))
    }

    /// Whether the operator is told of it.
    func isTold(_ event: some ReportedEvent) -> Bool { event.isToldWhenQuiet || verbosity != .quiet }

    func publish(
        _ event: some ReportedEvent, _ report: ReportOutcome, of app: DaemonApp, _ subject: EventSubject
    ) {
        let narration = Narration(name: app.name, verbosity: verbosity)
        tell(.reported, of: app, report.verdict.line, pid: subject.pid, report: report.path)
        tell(
            isTold(event) ? narration.lines(of: event, pid: subject.pid, report) : nil,
            JournalEntry(event, report, about: subject))
    }

    func publish(
        _ kind: ControlEvent.Kind, of app: DaemonApp, _ message: String, _ subject: EventSubject? = nil,
        status: ExitStatus? = nil, isDetail: Bool = false
    ) {
        tell(kind, of: app, message, pid: subject?.pid)
        let line = "\(app.name) \(message)"
        tell(
            verbosity == .quiet || (isDetail && verbosity == .normal) ? nil : line,
            EventKind(rawValue: kind.rawValue).map {
                var entry = JournalEntry($0, line, about: subject ?? EventSubject(app: app.name))
                if let status { entry.add(status) }
                return entry
            })
    }

    private func tell(
        _ kind: ControlEvent.Kind, of app: DaemonApp, _ message: String, pid: Int32?, report: String? = nil
    ) {
        control?.publish(
            ControlEvent(kind, app: app.name, message: message, time: .now(), pid: pid, report: report))
    }
}
