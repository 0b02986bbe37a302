// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogCapture
import WatchdogConfiguration
import WatchdogControl
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

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
    /// Has to be called on the main thread, before any other thread exists, and at most once in a process: it takes the
    /// process's signals and becomes the subreaper.
    ///
    /// - Returns: the exit code that watchdogd is to end with.
    /// - Throws: ``RunError`` when nothing was launched, because the daemon cannot work here.
    public func execute() throws -> Int32 {
        StandardStreams.openMissing()
        // Before the first thread: the kernel hands a signal to any thread that does not block it.
        SignalSource.block(Self.signals + [SIGCHLD, SIGTTOU])
        for ignored in [SIGPIPE, SIGXFSZ] { signal(ignored, SIG_IGN) }
        _ = Reexecution.program
        let passed = PassedDescriptors.take()
        let listing = try listing()
        let store = ReportStore(directory: configuration.places.reportsDirectory)
        do {
            try store.prepare()
        } catch {
            throw RunError.cannotCreate("--reports: \(error)")
        }
        let socket = try socket()
        defer { socket.remove() }
        do {
            try Subreaper.become()
            OpenFileLimit.raise()
            OpenFileLimit.lengthenTable()
            try LaunchDescriptors.shared.reserve()
            return try serve(consume listing, store, socket, passed)
        } catch let error as LinuxError {
            throw RunError.internalFailure("\(error)")
        } catch let error as SnapshotError {
            throw RunError.internalFailure("\(error)")
        }
    }

    /// A variable that was inherited from somewhere is no reason not to supervise.
    private static func notifier(on loop: EventLoop) -> ServiceNotifier? {
        do throws(LinuxError) {
            return try ServiceNotifier(on: loop)
        } catch {
            StandardError.say("\(error); it does not hear of this service")
            return nil
        }
    }

    private func survival(_ notifier: ServiceNotifier?) throws(LinuxError) -> Survival {
        let standard = configuration.places.scope == .system ? ControlPath.system : ControlPath.user()
        return try Survival(
            controlPath: configuration.places.controlPath.path, standardPath: standard?.path ?? "",
            notifier: notifier)
    }

    private func listing() throws(RunError) -> ConfigurationListing {
        let directory = configuration.places.configurationDirectory
        do throws(ConfigurationReadError) {
            return try ConfigurationLoader(HostFileSystem(), specifiers: .host).load(directory: directory)
        } catch {
            guard error.isMissing, !configuration.isDirectoryNamed else { throw .noInput(error.description) }
            StandardError.say("\(directory) does not exist yet; apps are read from there at the next reload")
            return ConfigurationListing()
        }
    }

    private func socket() throws(RunError) -> ControlSocket {
        let path = configuration.places.controlPath
        do throws(ControlSocket.BindError) {
            return try ControlSocket.bind(path: path.path, mode: path.socketMode)
        } catch {
            switch error {
            case .inUse: throw .unavailable("\(error); 'watchdogd list' shows what it runs")
            case .failed(let cause) where cause.errno == .permissionDenied:
                throw .notPermitted("--control: \(error); only root serves the machine, use --user")
            case .notASocket, .notListening, .failed: throw .cannotCreate("--control: \(error)")
            }
        }
    }

    private func serve(
        _ listing: consuming ConfigurationListing, _ store: ReportStore, _ socket: ControlSocket,
        _ passed: PassedDescriptors
    ) throws -> Int32 {
        let loop = try EventLoop()
        let log = EventLog(toJournal: true)
        defer { log.finish() }
        let notifier = Self.notifier(on: loop)
        let survival = try survival(notifier)
        let inheritance = survival.inherit(passed)
        let host = try Host(loop: loop, store: store, survival: survival, log: log)
        let daemon = try Daemon(
            host: host, places: configuration.places, store: store, verbosity: configuration.verbosity)
        defer { host.stop(leaving: daemon.isLeaving) }
        defer { if !daemon.isLeaving { Strays.end() } }
        survival.onProblem = { [unowned daemon] in daemon.say($0) }
        notifier?.onProblem = { [unowned survival] in survival.tell("\($0)") }
        defer { notifier?.finish() }
        let server = try ControlServer(
            loop: loop, socket: socket, handler: daemon, info: ServiceInfo(version: watchdogdVersion))
        defer { server.stop() }
        server.onNotice = { daemon.say($0.description) }
        daemon.control = server
        let signals = try loop.onSignal(Self.signals) { signal in
            switch signal.signal {
            case SIGHUP: daemon.reload()
            case SIGUSR1: daemon.leave()
            case SIGUSR2: daemon.reexecute()
            default: daemon.stop()
            }
        }
        try host.start()
        // A kilobyte for each app that would stay for as long as the daemon does.
        daemon.begin(with: consume listing, inheritance)
        daemon.announceReadiness()
        let code = try withExtendedLifetime(signals) { try loop.run() }
        // What was to be done when the last app had ended.
        if !daemon.isLeaving { daemon.doPostponed() }
        return code
    }
}
