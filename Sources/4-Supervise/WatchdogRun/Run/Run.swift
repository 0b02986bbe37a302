// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogCapture
import WatchdogConfiguration
import WatchdogControl
import WatchdogDaemon
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy
import WatchdogRecording
import WatchdogReport
import WatchdogReportStore

/// One run of one program in the foreground.
public struct Run {
    private let configuration: RunConfiguration
    private let signals: [Int32]

    /// Creates a run; nothing happens before ``execute()``.
    public init(_ configuration: RunConfiguration) {
        self.configuration = configuration
        signals = PassedSignals.all(readsKeys: configuration.readsKeys)
    }

    /// Launches the program, supervises it to its end, and writes the summary.
    ///
    /// Call it on the main thread, before any other thread exists, and at most once per process: it takes over the
    /// process's signals and becomes the subreaper.
    ///
    /// - Returns: the exit code of watchdogd.
    /// - Throws: ``RunError`` if the program was not launched.
    public func execute() throws -> Int32 {
        ProcessMemory.protect()
        StandardStreams.openMissing()
        StandardError.use(configuration.logFormat, app: configuration.spec.name)
        if let obstacle = Machine.obstacle { throw RunError.systemFailure(obstacle) }
        // Bound before a fault moves the run to its own network namespace, where clients could not reach the port.
        let listener = try configuration.metrics.listen()
        // Before anything reads files, because the disks may cover them.
        let surroundings = try FaultSurroundings(configuration.preparedFaults)
        // Fork before there is a second thread or much memory to copy.
        let sources = try ProcessSources.forked()
        defer { sources.end() }
        // Block the signals before the first thread starts: the kernel delivers a signal to any thread that does not
        // block it. One of them is SIGTTOU: while the program has the terminal, our own output would stop us under
        // `stty tostop`: termios(3).
        SignalSource.block(signals + [SIGCHLD])
        signal(SIGPIPE, SIG_IGN)
        // Without SIGXFSZ, write(2) fails with EFBIG beyond the file size limit, so an oversized report is an ordinary
        // error.
        signal(SIGXFSZ, SIG_IGN)
        if let warning = configuration.spec.warning(ofGracePeriod: configuration.gracePeriod) {
            StandardError.say(warning)
        }
        if let shortcomings = Shortcomings.here.words { StandardError.say(shortcomings) }
        var launch = try LaunchConfiguration.resolving(configuration)
        try surroundings.disks.check(
            outputs: configuration.outputs + (configuration.printsReports ? [] : [launch.store.directory]))
        try configuration.resultFiles.check()
        try configuration.metrics.checkCounts()
        launch.attributes.allowsFaults = configuration.allowsHangs
        launch.attributes.recordsStartup = configuration.recordsStartup
        launch.launchingEvent = configuration.script?.launchingEvent
        let socket = try configuration.controlPath.map { path throws(RunError) in try RunControl.bind(path) }
        // In case the run fails before the socket is served.
        defer { socket?.remove() }
        do {
            try Subreaper.become()
            let launcher = try startLauncher(clockLead: surroundings.clockLead)
            return try supervise(launch, launcher, sources, socket, listener, surroundings)
        } catch let error as LinuxError {
            throw RunError.internalFailure("\(error)")
        } catch let error as SnapshotError {
            throw RunError.internalFailure("\(error)")
        }
    }

    private func startLauncher(clockLead: Duration) throws -> LauncherProcess {
        do throws(LinuxError) {
            return try LauncherProcess(precedence: true)
        } catch {
            guard clockLead > .zero else { throw error }
            throw RunError.unavailable("--fault clock: cannot create a time namespace: \(error)")
        }
    }

    private func supervise(
        _ launch: LaunchConfiguration, _ launcher: LauncherProcess, _ sources: ProcessSources,
        _ socket: ControlSocket?, _ listener: OwnedDescriptor?, _ surroundings: FaultSurroundings
    ) throws -> Int32 {
        let loop = try EventLoop()
        let log = EventLog.forRun()
        defer { log.finish() }
        let host = try Host(
            loop: loop, store: launch.store, launcher: launcher, log: log, sources: sources,
            printsReports: configuration.printsReports, recordsStartups: configuration.recordsStartup)
        defer { host.stop() }
        defer { RemainingProcesses.end(except: sources.processes) }
        var launch = launch
        let limits = try FaultLimits(configuration.preparedFaults, of: &launch, on: host)
        let app = try AppLaunch(launch, on: host, terminal: configuration.readsKeys ? nil : ForegroundTerminal())
        defer { app.shell.stop() }
        app.supervisor.noteClockLead(surroundings.clockLead)
        let kept = configuration.metrics.counts.flatMap { CountsFile.contents($0, of: configuration.spec.name) }
        let meter = try RunMeter(of: app, configuration.spec, continuing: kept)
        let counts = try configuration.metrics.counts.map { path throws(LinuxError) in
            try CountsFile(path, of: meter)
        }
        // Last of all, when the end of the program and its report are counted.
        defer { counts?.finish() }
        let session = try RunSession(configuration, app, meter, limits, surroundings, loop)
        let control = try socket.map { socket throws(LinuxError) in
            try RunControl(socket, for: app, meter, of: configuration.spec, on: loop, closer: host.closer)
        }
        defer { control?.stop() }
        // Before the host sets real-time scheduling, which new threads would inherit.
        let outlets = try MetricsOutlets(configuration.metrics, listener, of: meter)
        defer { outlets.stop() }
        let keyboard = configuration.readsKeys ? try Keyboard(app.supervisor, on: loop) : nil
        defer { keyboard?.stop() }
        let sources = try loop.onSignal(signals) { app.supervisor.signalReceived($0.signal) }
        try host.start()
        if !launch.cgroupLimits.controllers.isEmpty { _ = host.cgroupParent?.enable(launch.cgroupLimits.controllers) }
        if let refusal = app.shell.cgroupRefusal { StandardError.say(Shortcomings.withoutCgroups(because: refusal)) }
        let refusals = app.shell.limitCgroup()
        if limits.needsCgroup, let refusal = refusals.first { throw RunError.unavailable("--fault: \(refusal)") }
        if limits.needsCgroup, app.shell.cgroup == nil {
            let reason = app.shell.tree.cgroupRefusal ?? "none was made"
            throw RunError.unavailable("--fault: the app has no cgroup: \(reason)")
        }
        for refusal in refusals { StandardError.say("\(launch.name) \(refusal)") }
        try app.shell.start(app.supervisor)
        host.perfEvents?.wait(limit: .milliseconds(50))
        describe(app.shell)
        session.begin()
        return try withExtendedLifetime((session, sources, keyboard)) { try loop.run() }
    }

    /// Prints what `--verbose` shows before the launch.
    private func describe(_ shell: LaunchShell) {
        guard configuration.verbosity == .verbose else { return }
        if let scheduling = shell.host.scheduling { StandardError.say("scheduling: \(scheduling)", as: .info) }
        if let cgroup = shell.cgroup { StandardError.say("cgroup: \(cgroup.path)", as: .info) }
        let place = configuration.printsReports ? "on standard error" : shell.configuration.store.directory
        StandardError.say("reports: \(place)", as: .info)
    }
}
