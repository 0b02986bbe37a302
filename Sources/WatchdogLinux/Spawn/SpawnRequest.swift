// SPDX-License-Identifier: Apache-2.0

/// A program to be started and everything that its process is to be.
///
/// What is not planned here does not reach the program: signal dispositions are the default ones (ignored signals
/// included), no signal is blocked, every descriptor but the planned ones is closed, a real-time scheduling policy
/// is dropped.
public struct SpawnRequest: Sendable {
    /// The program file, relative to ``workingDirectory``.
    ///
    /// ``resolveExecutable(_:path:workingDirectory:)`` finds it.
    public var executable: ByteString
    /// The arguments, beginning with the program's name for itself.
    public var arguments: [ByteString]
    /// The environment.
    public var environment: Environment
    /// Variables that the child sets to its own process id before it executes, such as `WATCHDOG_PID`.
    public var processIdVariables: [String] = []
    /// The descriptors that the program gets; standard input, output and error as they are unless changed.
    public var descriptors: [PassedDescriptor] = [
        PassedDescriptor(0, as: 0), PassedDescriptor(1, as: 1), PassedDescriptor(2, as: 2),
    ]
    /// Where the program starts, entered with its own credentials; nil for the supervisor's directory.
    public var workingDirectory: ByteString?
    /// Whose rights the program has; nil for the supervisor's.
    public var credentials: Credentials?
    /// The session and process group.
    public var session: Session = .newSession
    /// A cgroup2 directory to be born into; see ``Cgroup/directory()``.
    public var cgroup: OwnedDescriptor?
    /// Resource limits.
    public var limits: [ResourceLimit] = []
    /// The nice value; nil for the supervisor's.
    public var niceness: Int32?
    /// `/proc/PID/oom_score_adj`, −1000 … 1000; nil for the supervisor's.
    public var oomScoreAdjustment: Int?
    /// True when neither set-user-id files nor file capabilities may raise the program's rights.
    public var noNewPrivileges = false
    /// The file mode creation mask; nil for the supervisor's.
    public var fileModeMask: UInt32?
    /// How long the child may take to get from birth into the program.
    ///
    /// A file server that does not answer can hold `chdir` and `execve` for ever.
    public var launchLimit: Duration = .seconds(5)
    /// Acts as if `clone3` were refused; for tests.
    var withoutClone3 = false

    /// The session and process group of a new process.
    public enum Session: Sendable {
        /// A session of its own, without a terminal.
        case newSession
        /// A process group of its own in the supervisor's session.
        ///
        /// With a terminal's descriptor, the group becomes that terminal's foreground group.
        case newProcessGroup(foregroundOf: Int32?)
        /// The supervisor's session and group.
        case inherited
    }

    /// A descriptor of the supervisor and the number under which the program gets it.
    public struct PassedDescriptor: Hashable, Sendable {
        /// The supervisor's number; must be open until ``spawn(_:)`` returns.
        public var source: Int32
        /// The program's number.
        public var target: Int32

        /// Passes `source` as `target`.
        public init(_ source: Int32, as target: Int32) {
            self.source = source
            self.target = target
        }
    }

    /// Creates a request with a new session, inherited standard streams and no further changes.
    public init(executable: ByteString, arguments: [ByteString], environment: Environment = .inherited) {
        self.executable = executable
        self.arguments = arguments
        self.environment = environment
    }

    /// Creates a request with a new session, inherited standard streams and no further changes.
    public init(executable: String, arguments: [String], environment: Environment = .inherited) {
        self.init(
            executable: ByteString(executable),
            arguments: arguments.map { ByteString($0) },
            environment: environment
        )
    }
}
