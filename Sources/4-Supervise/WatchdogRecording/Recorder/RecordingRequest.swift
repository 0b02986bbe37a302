// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogLinux

/// One launch to record.
public struct RecordingRequest: Sendable {
    /// The program's file, from ``resolveExecutable(_:path:workingDirectory:)``.
    public var executable: String
    /// The command, starting with the program's own name.
    public var command: [String]
    /// The program's environment; the recorder adds `NOTIFY_SOCKET` and `WATCHDOG_CHANNEL`.
    public var environment: Environment
    /// The end of the launch; nil for the best sign that the program gives.
    public var goal: LaunchGoal?
    /// The time limit of the recording.
    public var timeLimit: Duration
    /// The only rung to try; nil for the best available one.
    public var rung: Rung?
    /// Whether each constructor is timed, which needs root; without that right, the recording fails before the launch.
    public var timesConstructors: Bool
    /// Whether the program continues after its launch.
    public var keepsProgram: Bool

    /// Creates a request.
    public init(
        executable: String, command: [String], environment: Environment = .inherited, goal: LaunchGoal? = nil,
        timeLimit: Duration = .seconds(60), rung: Rung? = nil, timesConstructors: Bool = false,
        keepsProgram: Bool = false
    ) {
        self.executable = executable
        self.command = command
        self.environment = environment
        self.goal = goal
        self.timeLimit = timeLimit
        self.rung = rung
        self.timesConstructors = timesConstructors
        self.keepsProgram = keepsProgram
    }
}

/// A launch that could not be recorded.
public struct RecordingError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The error and its remedy.
    public let description: String
    /// The exit code: sysexits.h.
    public let exitCode: Int32

    /// Creates an error.
    public init(_ description: String, exitCode: Int32) {
        self.description = description
        self.exitCode = exitCode
    }

    static func call(_ error: LinuxError) -> RecordingError { RecordingError(error.description, exitCode: 71) }
}

/// A recorded launch, and the end of the program.
public struct RecordedLaunch: Sendable {
    /// The recording.
    public var recording: LaunchRecording
    /// The exit code for the recorder: 0 if the launch ended, else the program's own, 128 + its signal, or 75 if the
    /// time limit passed.
    public var exitCode: Int32
    /// The stacks from which ``nameFunctions()`` names functions; nil without samples.
    var stacks: SampledStacks?
    /// The probes of constructors, from which ``nameFunctions()`` names them.
    var probes: [LaunchLog.Probe] = []
}
