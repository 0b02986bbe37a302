// SPDX-License-Identifier: Apache-2.0

public import WatchdogConfiguration
public import WatchdogLinux
public import WatchdogPolicy

/// One run of one program in the foreground, as the command line describes it.
public struct RunConfiguration: Sendable {
    /// The target of a readiness probe.
    public enum Probe: Hashable, Sendable {
        /// A TCP port or Unix socket, as written after `listen:`.
        case listening(String)
        /// A command for `/bin/sh -c`, as written after `exec:`.
        case command(String)
    }

    /// How much is printed on stderr.
    public enum Verbosity: Sendable {
        /// Failures and kills.
        case quiet
        /// Also what explains unexpected delays.
        case normal
        /// Everything.
        case verbose
    }

    /// Where the JSON summary goes.
    public enum SummaryTarget: Hashable, Sendable {
        /// Standard output.
        case standardOutput
        /// A file, replaced when the run ends.
        case file(String)
    }

    /// The allowances and everything else the policy needs.
    public var spec: AppSpec
    /// The command and its arguments, byte for byte; for an app, only the program.
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
    /// What runs after each report; nil for nothing, or for the command of the app's file.
    public var onIncident: IncidentHook?
    /// The directory for reports; nil for the user's default.
    public var reportsDirectory: String?
    /// Whether journal entries carry reports.
    public var reportsInJournal = true
    /// Whether reports are printed on standard error, and no file is written.
    public var printsReports = false
    /// The file for a short message that says why the program was killed; nil for none.
    public var terminationMessage: String?
    /// The time from an engine's request to end the container to its kill; nil if it is not known.
    public var gracePeriod: Duration?
    /// The control socket's path; nil for none.
    public var controlPath: String?
    /// Where metrics go; a run writes no file.
    public var metrics = MetricsSettings()
    /// How messages on standard error are written.
    public var logFormat = LogFormat.text
    /// The version of the program; nil if it is not known.
    public var appVersion: String?
    /// Where the launch is kept; nil if it is not.
    public var history: HistorySettings?
    /// Where the JSON summary goes, if one is wanted.
    public var summary: SummaryTarget?
    /// What determines the exit code; all of it has to come.
    public var expectations: [Expectation] = []
    /// How long after its launch the program is asked to terminate; nil if it is not.
    public var runTime: Duration?
    /// What goes wrong with the run, and when; the times are not scaled.
    public var faults: [Fault] = []
    /// Where the trace for `watchdogd simulate` goes; nil for none.
    public var trace: String?
    /// Where the results of the expectations and of the script go.
    public var resultFiles = TestResultFiles()
    /// The user to run as.
    public var user: String?
    /// The directory to run in.
    public var workingDirectory: String?
    /// Variables set in addition to watchdogd's own environment, in order.
    public var environment: [(name: String, value: String)]
    /// How much is printed on stderr.
    public var verbosity: Verbosity
    /// What is done with the program and expected of it; the end of the script ends the run.
    public var script: LifecycleScript?
    /// The factor that the spec's times were multiplied by; it also applies to the script's `sleep`.
    public var timeScale: Double = 1
    /// Whether keys control the app; the program's standard input is then empty.
    public var readsKeys = false
    /// The inherited socket of the program that drives the run; nil if none does.
    public var remote: Int32?
    /// Whether to draw the launch when the run is over.
    public var showsLaunch = false

    /// The faults for which something is prepared before the launch, among them those of the script.
    var preparedFaults: [Fault] { faults + (script?.faults ?? []) }
    /// Whether the app may be asked to block its main loop.
    var allowsHangs: Bool { remote != nil || preparedFaults.contains { $0.kind == .mainHang } }

    /// The files and sockets that the run creates, besides reports.
    var outputs: [String] {
        var paths = [trace, history?.path, terminationMessage, controlPath, resultFiles.junit, resultFiles.tap]
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
