// SPDX-License-Identifier: Apache-2.0

import CLinux

/// A program to start, and the complete state of its process.
///
/// Nothing else reaches the program: signal dispositions are reset to their defaults (including ignored signals), no
/// signal is blocked, all descriptors except the passed ones are closed, and a real-time scheduling policy is dropped.
public struct SpawnRequest: Sendable {
    /// The program file, relative to ``workingDirectory``.
    ///
    /// Use ``resolveExecutable(_:path:workingDirectory:)`` to find it.
    public var executable: ByteString
    /// The arguments, starting with the program's own name.
    public var arguments: [ByteString]
    /// The environment.
    public var environment: Environment
    /// Variables that the child sets to its own process ID before it executes the program, such as `WATCHDOG_PID`.
    public var processIdVariables: [String] = []
    /// The descriptors that the program gets; by default, the supervisor's standard input, output and error.
    public var descriptors: [PassedDescriptor] = [
        PassedDescriptor(0, as: 0), PassedDescriptor(1, as: 1), PassedDescriptor(2, as: 2),
    ]
    /// Where the program starts, entered with its own credentials; nil for the supervisor's directory.
    public var workingDirectory: ByteString?
    /// The user and groups that the program runs as; nil for the supervisor's.
    public var credentials: Credentials?
    /// The session and process group.
    public var session: Session = .newSession
    /// The cgroup2 directory in which the process is created; see ``Cgroup/directory()``.
    public var cgroup: OwnedDescriptor?
    /// Resource limits.
    public var limits: [ResourceLimit] = []
    /// The nice value; nil for the supervisor's.
    public var niceness: Int32?
    /// `/proc/PID/oom_score_adj`, −1000 … 1000; nil for the supervisor's.
    public var oomScoreAdjustment: Int?
    /// Whether set-user-ID files and file capabilities are kept from raising the program's privileges.
    public var noNewPrivileges = false
    /// Whether the program gets no capabilities, even if it runs as root; needs ``noNewPrivileges``.
    public var dropsCapabilities = false
    /// The file mode creation mask; nil for the supervisor's.
    public var fileModeMask: UInt32?
    /// How long the child may take from its creation to the execution of the program.
    ///
    /// A file server that does not answer can block `chdir` and `execve` forever. A child that only waits for a
    /// CPU has up to twelve times as long.
    public var launchLimit: Duration = .seconds(5)
    /// Acts as if the kernel refused `clone3`; for tests.
    var withoutClone3 = false

    /// The session and process group of a new process.
    public enum Session: Sendable {
        /// A new session without a terminal.
        case newSession
        /// A new process group in the supervisor's session.
        ///
        /// If a terminal's descriptor is given, the group becomes that terminal's foreground group.
        case newProcessGroup(foregroundOf: Int32?)
        /// The supervisor's session and group.
        case inherited
    }

    /// A descriptor of the supervisor, and its number in the program.
    public struct PassedDescriptor: Sendable {
        /// The number in the supervisor; must be open until ``spawn(_:)`` returns.
        public var source: Int32 {
            didSet { if source != owner?.number { owner = nil } }
        }
        /// The number in the program.
        public var target: Int32
        /// Keeps `source` open; nil if somebody else does.
        private(set) var owner: OwnedDescriptor?

        /// Passes `source` as `target`.
        public init(_ source: Int32, as target: Int32) {
            self.source = source
            self.target = target
        }

        /// Passes `source` as `target`, and keeps it open as long as the launch may need it.
        public init(_ source: OwnedDescriptor, as target: Int32) {
            self.init(source.number, as: target)
            owner = source
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

/// The user and groups that a process runs as.
public struct Credentials: Hashable, Sendable {
    /// The real, effective and saved user ID.
    public var user: UInt32
    /// The real, effective and saved group ID.
    public var group: UInt32
    /// The supplementary groups.
    public var supplementaryGroups: [UInt32]

    /// Creates credentials from IDs.
    public init(user: UInt32, group: UInt32, supplementaryGroups: [UInt32] = []) {
        self.user = user
        self.group = group
        self.supplementaryGroups = supplementaryGroups
    }

    /// Whether this process may start others as another user; root in a container without `CAP_SETUID` and `CAP_SETGID`
    /// may not.
    public static var canBeChanged: Bool { wd_may_change_user() }
}
