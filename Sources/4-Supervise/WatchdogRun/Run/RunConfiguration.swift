// SPDX-License-Identifier: Apache-2.0

public import WatchdogConfiguration
public import WatchdogDaemon
public import WatchdogLaunch
public import WatchdogLinux
public import WatchdogPolicy

/// The configuration of a foreground run, from its command line.
public struct RunConfiguration: Sendable {
    /// The target of a readiness probe.
    public enum Probe: Hashable, Sendable {
        /// A TCP port or Unix socket, as written after `listen:`.
        case listening(String)
        /// A command for `/bin/sh -c`, as written after `exec:`.
        case command(String)
    }

    /// A recording of the launch, which `watchdogd simulate` reads.
    package struct Trace: Sendable {
        let path: String
        let begin: @Sendable (Supervisor, LaunchShell) throws -> (_ exitCode: Int32) -> Int32

        /// Creates a recording.
        ///
        /// - Parameters:
        ///   - path: the file.
        ///   - begin: begins to record. Its result completes the file: it takes the exit code of the run, and returns
        ///     another one if that failed.
        package init(
            _ path: String,
            begin: @escaping @Sendable (Supervisor, LaunchShell) throws -> (_ exitCode: Int32) -> Int32
        ) {
            (self.path, self.begin) = (path, begin)
        }
    }

    /// The destination of the JSON summary.
    public enum SummaryTarget: Hashable, Sendable {
        /// Standard output.
        case standardOutput
        /// A file, replaced when the run ends.
        case file(String)
    }

    /// The allowances and all other parameters of the policy.
    public var spec: AppSpec
    /// The command and its arguments, which need not be UTF-8; for an app, only the program.
    public var command: [ByteString]
    /// The app to run instead of a command.
    let app: AppConfiguration?
    /// The target of readiness probes.
    public var probe: Probe?
    /// The target of liveness probes; their timing is in ``AppSpec/livenessProbe``.
    public var livenessTarget: ProbeSettings.Target?
    /// Whether the kernel should write a core file when a signal ends the program, for the stacks in the report.
    public var takesCrashStacks = false
    /// Whether the stacks of incidents are kept beside the reports.
    public var keepsStacks = false
    /// Whether the kernel records how the program starts, for the phases of its launch.
    public var recordsStartup = true
    /// The hook that runs after each report; nil for none, or for that of the app's file.
    public var onIncident: IncidentHook?
    /// The directory for reports; nil for the user's default.
    public var reportsDirectory: String?
    /// Whether journal entries contain reports.
    public var reportsInJournal = true
    /// Whether reports are printed on standard error instead of written to files.
    public var printsReports = false
    /// The file for a short message about the cause of a kill; nil for none.
    public var terminationMessage: String?
    /// The time between a container engine's SIGTERM and its SIGKILL; nil if unknown.
    public var gracePeriod: Duration?
    /// The control socket's path; nil for none.
    public var controlPath: String?
    /// The outlets for metrics; a run writes no metrics file.
    public var metrics = MetricsSettings()
    /// The format of messages on standard error.
    public var logFormat = LogFormat.text
    /// The version of the program; nil if unknown.
    public var appVersion: String?
    /// The history that stores the launch; nil for none.
    public var history: HistorySettings?
    /// The destination of the JSON summary; nil for none.
    public var summary: SummaryTarget?
    /// The expectations that determine the exit code; all must be met.
    public var expectations: [Expectation] = []
    /// The time from the launch to a request to terminate; nil for no request.
    public var runTime: Duration?
    /// The faults to inject, with their times, which are not scaled.
    public var faults: [Fault] = []
    /// What records the launch, from before it starts; nil if nothing does.
    package var trace: Trace?
    /// The files for the results of the expectations and of the script.
    public var resultFiles = TestResultFiles()
    /// The user to run as.
    public var user: String?
    /// The directory to run in.
    public var workingDirectory: String?
    /// Variables set in addition to watchdogd's own environment, in order.
    public var environment: [(name: String, value: String)]
    /// The amount of messages on standard error.
    public var verbosity: Verbosity
    /// The script that drives and checks the program; its end ends the run.
    public var script: LifecycleScript?
    /// The factor that the spec's times were multiplied by; it also applies to the script's `sleep`.
    public var timeScale: Double = 1
    /// Whether keys on the terminal control the app; the program's standard input is then empty.
    public var readsKeys = false
    /// The inherited socket of the program that drives the run; nil without one.
    public var remote: Int32?
    /// Whether to draw the launch after the run.
    public var showsLaunch = false

    /// The faults that need preparation before the launch, including those of the script.
    var preparedFaults: [Fault] { faults + (script?.faults ?? []) }
    /// Whether a fault may block the app's main loop.
    var allowsHangs: Bool { remote != nil || preparedFaults.contains { $0.kind == .mainHang } }

    /// The files and sockets that the run creates, besides reports.
    var outputs: [String] {
        var paths = [
            trace?.path, history?.path, terminationMessage, controlPath, metrics.counts, resultFiles.junit,
            resultFiles.tap,
        ]
        if case .file(let path) = summary { paths.append(path) }
        return paths.compactMap(\.self).filter { $0 != "-" }
    }

    /// Creates a configuration with defaults for everything optional.
    public init(spec: AppSpec, command: [ByteString]) {
        precondition(!command.isEmpty, "a run needs a command")
        self.spec = spec
        self.command = command
        self.app = nil
        self.environment = []
        self.verbosity = .normal
    }

    /// Creates the configuration for running an app as its files describe it.
    public init(app: AppConfiguration) {
        self.spec = app.spec
        self.command = [ByteString(app.program.command.program)]
        self.app = app
        self.reportsInJournal = app.watchdog.reportsInJournal
        self.environment = []
        self.verbosity = .normal
    }
}
