// SPDX-License-Identifier: Apache-2.0

public import WatchdogLinux

/// Which program to try, and how patiently.
public struct ConformancePlan: Sendable {
    /// The program and its arguments.
    public var command: [String]
    /// The environment that the program gets besides what the protocol adds.
    public var environment: Environment
    /// How long a launch may take until `READY=1`.
    public var launchLimit: Duration
    /// How long an answer may take.
    public var answerLimit: Duration
    /// How long the program may take to exit.
    public var terminationLimit: Duration
    /// Whether the program's output is shown, on standard error; otherwise it is discarded.
    public var showsOutput: Bool
    /// The requirements that are left out.
    public var exceptions: Set<Requirement> = []

    /// Creates a plan.
    public init(
        command: [String], environment: Environment, launchLimit: Duration, answerLimit: Duration,
        terminationLimit: Duration, showsOutput: Bool
    ) {
        self.command = command
        self.environment = environment
        self.launchLimit = launchLimit
        self.answerLimit = answerLimit
        self.terminationLimit = terminationLimit
        self.showsOutput = showsOutput
    }
}

/// Why nothing could be tried.
public struct ConformanceError: Error, Equatable, Sendable, CustomStringConvertible {
    /// One sentence without a period.
    public let description: String
    /// The exit code, from sysexits.h, or 130 after an interruption.
    public let exitCode: Int32

    init(_ description: String, exitCode: Int32) {
        self.description = description
        self.exitCode = exitCode
    }

    /// 128 + SIGINT, as in shells.
    static let interrupted = ConformanceError("interrupted; the program was killed", exitCode: 130)
}
