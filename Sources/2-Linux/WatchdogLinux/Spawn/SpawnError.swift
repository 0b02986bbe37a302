// SPDX-License-Identifier: Apache-2.0

/// A program that could not be started: the step that failed, its object, and the kernel's reason.
///
/// The description reads "cannot change directory to /x: No such file or directory (ENOENT)".
public struct SpawnError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A step of a launch, in execution order; the raw values match those in C.
    public enum Stage: Int32, Sendable, CaseIterable {
        /// Creating the process.
        case clone = 1
        /// Moving to the cgroup. A failure does not end the launch, so this step fails only if it does not end.
        case cgroup
        /// Creating the session or process group.
        case session
        /// Becoming the terminal's foreground group.
        case foreground
        /// Passing a descriptor.
        case descriptor
        /// Closing all other descriptors.
        case close
        /// Setting a resource limit.
        case limit
        /// Dropping a real-time scheduling policy.
        case scheduling
        /// Setting the nice value.
        case niceness
        /// Setting the out-of-memory score.
        case oomScore
        /// Disabling privilege gains.
        case noNewPrivileges
        /// Setting the supplementary groups.
        case groups
        /// Setting the group.
        case group
        /// Setting the user.
        case user
        /// Giving up all capabilities.
        case capabilities
        /// Changing to the working directory.
        case directory
        /// Executing the program.
        case execute
    }

    /// The step that failed, or that did not finish within ``SpawnRequest/launchLimit``.
    public let stage: Stage
    /// The kernel's reason; ``Errno/timedOut`` for a step that did not finish.
    public let errno: Errno
    /// The failed operation, worded to follow "cannot": "change directory to /x".
    public let operation: String
    /// Details that the kernel's reason leaves open: a missing interpreter, the length of the arguments.
    public let detail: String?

    /// Creates an error from its parts.
    public init(stage: Stage, errno: Errno, operation: String, detail: String? = nil) {
        self.stage = stage
        self.errno = errno
        self.operation = operation
        self.detail = detail
    }

    /// Launchers keep dying before they answer the request.
    static let launcherDied = SpawnError(stage: .clone, errno: .connectionReset, operation: "create a process")

    /// "cannot change directory to /x: No such file or directory (ENOENT)".
    public var description: String {
        "cannot \(operation): " + (detail.map { "\($0): " } ?? "") + "\(errno)"
    }

    /// The exit code with which shells report such a failure: 127 if the program does not exist, otherwise 126.
    public var shellCode: Int32 {
        stage == .execute && errno == .noSuchFile ? 127 : 126
    }

    /// The exit code of sysexits.h: EX_NOINPUT, EX_NOPERM or EX_DATAERR for a program that cannot be executed, EX_OSERR
    /// for anything before.
    public var sysexit: Int32 {
        switch errno {
        case _ where stage != .execute: 71
        case .noSuchFile: 66
        case .permissionDenied, .notPermitted: 77
        case .notAProgram: 65
        default: 71
        }
    }
}
