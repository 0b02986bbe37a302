// SPDX-License-Identifier: Apache-2.0

public import WatchdogLinux

/// The program to test, and the time limits of the tests.
public struct ConformancePlan: Sendable {
    /// The program and its arguments.
    public var command: [String]
    /// The environment of the program, without the variables of the protocol.
    public var environment: Environment
    /// The time limit of a launch, until `READY=1`.
    public var launchLimit: Duration
    /// The time limit of an answer.
    public var answerLimit: Duration
    /// The time limit of an exit after a request.
    public var terminationLimit: Duration
    /// Whether the program's output goes to standard error; otherwise it is discarded.
    public var showsOutput: Bool
    /// The requirements to skip.
    public var exceptions: Set<Requirement> = []

    /// Creates a plan, whose limits are not scaled later.
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

/// A reason why no test could run.
public struct ConformanceError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The reason: one sentence without a period.
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
