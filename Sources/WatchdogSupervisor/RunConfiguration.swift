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
    /// The command and its arguments, byte for byte as given.
    public var command: [ByteString]
    /// What a probed readiness looks at.
    public var probe: Probe?
    /// What liveness probes look at; ``AppSpec/livenessProbe`` has their times.
    public var livenessTarget: ProbeSettings.Target?
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

    /// Creates a configuration with everything optional left out.
    public init(spec: AppSpec, command: [ByteString]) {
        precondition(!command.isEmpty, "a run needs a command")
        self.spec = spec
        self.command = command
        self.environment = []
        self.verbosity = .normal
    }
}
