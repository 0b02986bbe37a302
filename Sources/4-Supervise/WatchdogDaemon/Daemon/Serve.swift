// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogCapture
import WatchdogConfiguration
import WatchdogControl
import WatchdogLaunch
import WatchdogLinux
import WatchdogRecording
import WatchdogReportStore

/// The daemon: every app of a configuration directory.
public struct Serve {
    private static let signals = [SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2]

    private let configuration: ServeConfiguration

    /// Creates a daemon; nothing happens before ``execute()``.
    public init(_ configuration: ServeConfiguration) {
        self.configuration = configuration
    }

    /// Launches all enabled apps and supervises them until it is asked to end and all have ended.
    ///
    /// Call it on the main thread, before any other thread exists, and at most once per process: it takes over the
    /// process's signals and becomes the subreaper.
    ///
    /// - Returns: the exit code for watchdogd.
    /// - Throws: ``RunError`` if the daemon cannot work here; then nothing was launched.
    public func execute() throws -> Int32 {
        ProcessMemory.protect()
        StandardStreams.openMissing()
        StandardError.use(configuration.logFormat, app: nil)
        if let obstacle = Machine.obstacle { throw RunError.systemFailure(obstacle) }
        // Fork before there is a second thread or much memory to copy.
        let sources = try ProcessSources.forked(after: Reexecution.takeCloser())
        defer { sources.end() }
        // Block before the first thread starts: the kernel delivers a signal to any thread that does not block it.
        SignalSource.block(Self.signals + [SIGCHLD, SIGTTOU])
        for ignored in [SIGPIPE, SIGXFSZ] { signal(ignored, SIG_IGN) }
        _ = Reexecution.program
        let passed = PassedDescriptors.take()
        let listing = try listing()
        if let shortcomings = Shortcomings.here.words { StandardError.say(shortcomings) }
        let store = ReportStore(directory: configuration.places.reportsDirectory)
        do {
            try store.prepare()
        } catch {
            throw RunError.cannotCreate("--reports: \(error)")
        }
        try configuration.metrics.checkFile()
        let listener = try configuration.metrics.listen()
        let socket = try socket(isSameProcess: passed.isSameProcess)
        defer { socket.remove() }
        do {
            try Subreaper.become()
            // Start the launcher first: programs inherit its limit on open files.
            let launcher = try LauncherProcess(precedence: true)
            defer { launcher.end() }
            OpenFileLimit.raise()
            OpenFileLimit.lengthenTable()
            return try serve(consume listing, store, socket, listener, passed, launcher, sources)
        } catch let error as LinuxError {
            throw RunError.internalFailure("\(error)")
        } catch let error as SnapshotError {
            throw RunError.internalFailure("\(error)")
        }
    }

    /// An invalid inherited variable must not keep the daemon from supervising.
    private static func notifier(on loop: EventLoop) -> ServiceNotifier? {
        do throws(LinuxError) {
            return try ServiceNotifier(on: loop)
        } catch {
            StandardError.say("\(error); systemd gets no messages about this service")
            return nil
        }
    }

    private func survival(_ notifier: ServiceNotifier?) throws(LinuxError) -> Survival {
        let standard = configuration.places.scope == .system ? ControlPath.system : ControlPath.user()
        return try Survival(
            controlPath: configuration.places.controlPath.path, standardPath: standard?.path ?? "",
            scope: configuration.places.scope, notifier: notifier)
    }

    private func listing() throws(RunError) -> ConfigurationListing {
        let directory = configuration.places.configurationDirectory
        do throws(ConfigurationReadError) {
            return try ConfigurationLoader(HostFileSystem.ofDaemon, specifiers: .host).load(directory: directory)
        } catch {
            guard error.isMissing, !configuration.isDirectoryNamed else { throw .noInput(error.description) }
            StandardError.say("\(directory) does not exist yet; apps are read from there at the next reload")
            return ConfigurationListing()
        }
    }

    private func socket(isSameProcess: Bool) throws(RunError) -> ControlSocket {
        let path = configuration.places.controlPath
        do throws(ControlSocket.BindError) {
            return try ControlSocket.bind(
                path: path.path, mode: path.socketMode, replacesOwn: isSameProcess)
        } catch {
            switch error {
            case .stuck: throw .unavailable("\(error)")
            case .inUse: throw .unavailable("\(error); 'watchdogd list' shows what it runs")
            case .failed(let cause) where cause.errno == .permissionDenied:
                throw .notPermitted("--control: \(error); only root can serve the machine; use --user")
            case .notASocket, .notListening, .failed: throw .cannotCreate("--control: \(error)")
            }
        }
    }

    private func serve(
        _ listing: consuming ConfigurationListing, _ store: ReportStore, _ socket: ControlSocket,
        _ listener: OwnedDescriptor?, _ passed: PassedDescriptors, _ launcher: LauncherProcess,
        _ sources: ProcessSources
    ) throws -> Int32 {
        let loop = try EventLoop()
        let log = EventLog(toJournal: true)
        defer { log.finish() }
        let notifier = Self.notifier(on: loop)
        let survival = try survival(notifier)
        let inheritance = survival.inherit(passed)
        let host = try Host(
            loop: loop, store: store, launcher: launcher, survival: survival, log: log, sources: sources,
            limitsRepeats: true, recordsStartups: true)
        if let refusal = host.cgroupRefusal { StandardError.say(Shortcomings.withoutCgroups(because: refusal)) }
        let daemon = try Daemon(configuration, host: host, store: store)
        defer { daemon.lastFailure?.finish() }
        defer { daemon.history?.stop() }
        defer { host.stop(leaving: daemon.handover.isLeaving) }
        defer { if !daemon.handover.isLeaving { RemainingProcesses.end(except: sources.processes) } }
        survival.onProblem = { [unowned daemon] in daemon.announcer.say($0) }
        notifier?.onProblem = { [unowned survival] in survival.tell("\($0)") }
        defer { notifier?.finish() }
        let server = try ControlServer(
            loop: loop, socket: socket, handler: daemon.requests, info: ServiceInfo(version: watchdogdVersion),
            closer: host.closer)
        defer { server.stop() }
        server.onNotice = { daemon.announcer.say($0.description) }
        daemon.announcer.control = server
        // Before the host asks for real-time scheduling, which threads would inherit.
        let outlets = try MetricsOutlets(configuration.metrics, listener, of: daemon)
        defer { outlets.stop() }
        let signals = try loop.onSignal(Self.signals) { signal in
            switch signal.signal {
            case SIGHUP: daemon.configuration.reload()
            case SIGUSR1: daemon.handover.leave()
            case SIGUSR2: daemon.handover.reexecute()
            default: daemon.stop()
            }
        }
        try host.start()
        // Apps of the previous watchdogd must not wait.
        if inheritance.launches.isEmpty { host.perfEvents?.wait(limit: .milliseconds(50)) }
        // Consume the listing: it would keep a kilobyte per app for the daemon's lifetime.
        daemon.begin(with: consume listing, inheritance)
        host.closer?.forgetEarlierSockets()
        daemon.announceReadiness()
        let code = try withExtendedLifetime(signals) { try loop.run() }
        // Do what was postponed until the last app ended.
        if !daemon.handover.isLeaving { daemon.doPostponed() }
        return code
    }
}
