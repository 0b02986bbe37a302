// SPDX-License-Identifier: Apache-2.0

public import WatchdogConfiguration
public import WatchdogLinux
public import WatchdogPolicy

/// One run of one program in the foreground, as the command line describes it.
public struct RunConfiguration: Sendable {
    /// What a readiness probe looks at.
    public enum Probe: Hashable, Sendable {
        /// A TCP port or Unix socket, as written after `listen:`.
        case listening(String)
        /// A command for `/bin/sh -c`, as written after `exec:`.
        case command(String)
    }

    /// How much is told on stderr.
    public enum Verbosity: Sendable {
        /// Failures and kills.
        case quiet
        /// Also what explains an unexpected delay.
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

    /// The allowances and all that the policy needs.
    public var spec: AppSpec
    /// The command and its arguments, byte for byte as given; of an app only the program.
    public var command: [ByteString]
    /// The app that is run in place of a command.
    let app: AppConfiguration?
    /// What a probed readiness looks at.
    public var probe: Probe?
    /// What liveness probes look at; ``AppSpec/livenessProbe`` has their times.
    public var livenessTarget: ProbeSettings.Target?
    /// Whether the kernel is to write a core file when a signal ends the program, for the report's stacks.
    public var takesCrashStacks = false
    /// Where reports go; nil stands for the default of the user.
    public var reportsDirectory: String?
    /// Where the JSON summary goes, if it is wanted.
    public var summary: SummaryTarget?
    /// What the exit code tells.
    public var expectation: Expectation?
    /// The user to run as.
    public var user: String?
    /// The directory to run in.
    public var workingDirectory: String?
    /// Variables set on top of watchdogd's own environment, in order.
    public var environment: [(name: String, value: String)]
    /// How much is told on stderr.
    public var verbosity: Verbosity
    /// What is done with the program and expected of it; its end is then the end of the run.
    public var script: LifecycleScript?
    /// By which the spec's times were multiplied; the script's sleep too.
    public var timeScale: Double = 1
    /// Whether keys move the app; the program's standard input is then empty.
    public var readsKeys = false
    /// Whether the launch is drawn when it is over.
    public var showsLaunch = false

    /// Creates a configuration with everything optional left out.
    public init(spec: AppSpec, command: [ByteString]) {
        precondition(!command.isEmpty, "a run needs a command")
        self.spec = spec
        self.command = command
        self.app = nil
        self.environment = []
        self.verbosity = .normal
    }

    /// Creates the configuration of a run of an app as its files have it.
    public init(app: AppConfiguration) {
        self.spec = app.spec
        self.command = [ByteString(app.program.command.program)]
        self.app = app
        self.environment = []
        self.verbosity = .normal
    }
}
