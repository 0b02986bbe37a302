// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogCapture
import WatchdogConfiguration
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

/// One run of one program in the foreground.
public struct Run {
    /// What goes on to the program, besides the request to terminate.
    private static let signals = [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH]

    private let configuration: RunConfiguration

    /// Creates a run; nothing happens before ``execute()``.
    public init(_ configuration: RunConfiguration) {
        self.configuration = configuration
    }

    /// Launches the program, supervises it to its end, and writes what was asked for.
    ///
    /// Has to be called on the main thread, before any other thread exists, and at most once in a process: it takes the
    /// process's signals and becomes the subreaper.
    ///
    /// - Returns: the exit code that watchdogd is to end with.
    /// - Throws: ``RunError`` when the program was not launched because something about the run is wrong.
    public func execute() throws -> Int32 {
        StandardStreams.openMissing()
        // Before the first thread: the kernel hands a signal to any thread that does not block it.
        // While the program has the terminal, a line of ours would stop us where `stty tostop` is set: termios(3).
        SignalSource.block(Self.signals + [SIGCHLD, SIGTTOU])
        signal(SIGPIPE, SIG_IGN)
        // A report that is longer than a file may be is an error to be told, and no reason to die.
        signal(SIGXFSZ, SIG_IGN)
        let launch = try LaunchConfiguration.resolving(configuration)
        do {
            try Subreaper.become()
            return try supervise(launch)
        } catch let error as LinuxError {
            throw RunError.internalFailure("\(error)")
        } catch let error as SnapshotError {
            throw RunError.internalFailure("\(error)")
        }
    }

    private func supervise(_ launch: LaunchConfiguration) throws -> Int32 {
        let loop = try EventLoop()
        let log = EventLog.forRun()
        defer { log.finish() }
        let host = try Host(loop: loop, store: launch.store, log: log)
        defer { host.stop() }
        defer { Strays.end() }
        let kernel = try LinuxKernel(host, launch, terminal: configuration.readsKeys ? nil : ForegroundTerminal())
        defer { kernel.stop() }
        let supervisor = Supervisor(spec: launch.sharedSpec, kernel: kernel)
        let session = try RunSession(configuration, kernel, supervisor, loop)
        let keyboard = configuration.readsKeys ? try Keyboard(supervisor, on: loop) : nil
        defer { keyboard?.stop() }
        let signals = try loop.onSignal(Self.signals) { supervisor.signalReceived($0.signal) }
        try host.start()
        if !launch.cgroupLimits.controllers.isEmpty { _ = host.cgroupParent?.enable(launch.cgroupLimits.controllers) }
        for refusal in kernel.limitCgroup() { StandardError.say("\(launch.name) \(refusal)") }
        try kernel.start(supervisor)
        session.describe()
        let preparation = Preparation(configuration.app?.program.preparations ?? [], of: kernel) { failure in
            guard let failure else {
                supervisor.launch()
                return session.begin()
            }
            StandardError.say("\(launch.name) was not launched: \(failure)")
            loop.exit(code: RunError.internalFailure("").exitCode)
        }
        preparation.begin()
        return try withExtendedLifetime((session, signals, keyboard, preparation)) { try loop.run() }
    }
}
