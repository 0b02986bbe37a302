// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogCapture
import WatchdogLaunch
import WatchdogLinux
import WatchdogReportStore

/// Observes running programs that another supervisor owns: `watchdogd observe`.
public struct Observe {
    private static let signals = [SIGINT, SIGTERM, SIGHUP]

    private let configuration: ObserveConfiguration

    /// Creates an observation; nothing happens before ``execute()``.
    public init(_ configuration: ObserveConfiguration) {
        self.configuration = configuration
    }

    /// Observes until SIGINT, SIGTERM or SIGHUP, or until every observed process has ended.
    ///
    /// Call it on the main thread, before any other thread exists, and at most once per process: it takes over the
    /// process's signals. It never signals an observed process.
    ///
    /// - Returns: the exit code of watchdogd.
    /// - Throws: ``RunError`` if a target cannot be observed.
    public func execute() throws -> Int32 {
        ProcessMemory.protect()
        StandardStreams.openMissing()
        StandardError.use(configuration.logFormat, app: nil)
        if let obstacle = Machine.obstacle { throw RunError.systemFailure(obstacle) }
        let sources = try ProcessSources.forked()
        defer { sources.end() }
        SignalSource.block(Self.signals + [SIGCHLD])
        // A closed pipe and a report beyond the file size limit are then errors (EPIPE, EFBIG)
        // instead of fatal signals.
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        if let shortcomings = Shortcomings.here.words { StandardError.say(shortcomings) }
        let store = try ReportStore.prepared(
            at: configuration.reportsDirectory, prints: configuration.printsReports)
        do {
            let launcher = try LauncherProcess(precedence: true)
            defer { launcher.end() }
            return try observe(store, launcher, sources)
        } catch let error as LinuxError {
            throw RunError.internalFailure("\(error)")
        } catch let error as SnapshotError {
            throw RunError.internalFailure("\(error)")
        }
    }

    private func observe(
        _ store: ReportStore, _ launcher: LauncherProcess, _ sources: ProcessSources
    ) throws -> Int32 {
        let loop = try EventLoop()
        let log = EventLog.forRun()
        defer { log.finish() }
        let host = try Host(
            loop: loop, store: store, launcher: launcher, log: log, sources: sources,
            limitsRepeats: true, printsReports: configuration.printsReports)
        defer { host.stop() }
        let bus = ServiceBus(to: configuration.manager)
        let apps = try configuration.targets.map { try ObservedApp($0, configuration, on: bus, host, store: store) }
        defer { for app in apps { app.stop() } }
        var refusal: RunError?
        var remaining = apps.count
        for app in apps {
            app.onRefusal = { error in
                refusal = refusal ?? error
                loop.exit(code: error.exitCode)
            }
            app.onEnd = {
                remaining -= 1
                if remaining == 0 { loop.exit(code: 0) }
            }
        }
        let sources = try loop.onSignal(Self.signals) { _ in loop.exit(code: 0) }
        let end = try host.timer { _ in loop.exit(code: 0) }
        end.arm(at: configuration.duration.map { loop.now + $0 })
        try host.start()
        for app in apps { app.begin() }
        let code = try withExtendedLifetime((sources, end, apps)) { try loop.run() }
        if let refusal { throw refusal }
        return code
    }
}
