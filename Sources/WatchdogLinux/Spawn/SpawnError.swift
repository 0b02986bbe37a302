// SPDX-License-Identifier: Apache-2.0

/// A program that could not be started: the step that failed, what it was about, and the kernel's reason.
///
/// The description reads "cannot change directory to /x: No such file or directory (ENOENT)".
public struct SpawnError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A step of a launch, in the order in which they are taken; the raw values are the C side's.
    public enum Stage: Int32, Sendable, CaseIterable {
        /// Creating the process.
        case clone = 1
        /// Moving to the cgroup, which is tried only; in it a step that does not end.
        case cgroup
        /// Resetting signal dispositions.
        case signals
        /// Creating the session or process group.
        case session
        /// Becoming the terminal's foreground group.
        case foreground
        /// Leaving the supervisor's descriptor table.
        case unshare
        /// Placing a planned descriptor.
        case descriptor
        /// Closing all other descriptors.
        case close
        /// Setting a resource limit.
        case limit
        /// Dropping a real-time policy.
        case scheduling
        /// Setting the nice value.
        case niceness
        /// Setting the out-of-memory score.
        case oomScore
        /// Giving up the chance to gain privileges.
        case noNewPrivileges
        /// Setting the supplementary groups.
        case groups
        /// Setting the group.
        case group
        /// Setting the user.
        case user
        /// Changing to the working directory.
        case directory
        /// Executing the program.
        case execute
    }

    /// The step that failed, or that did not end within ``SpawnRequest/launchLimit``.
    public let stage: Stage
    /// The kernel's reason; ``Errno/timedOut`` for a step that did not end.
    public let errno: Errno
    /// What could not be done, to be read after "cannot": "change directory to /x".
    public let operation: String
    /// What the kernel's reason leaves open: a missing interpreter, the length of the arguments.
    public let detail: String?

    /// Creates an error from its parts.
    public init(stage: Stage, errno: Errno, operation: String, detail: String? = nil) {
        self.stage = stage
        self.errno = errno
        self.operation = operation
        self.detail = detail
    }

    /// "cannot change directory to /x: No such file or directory (ENOENT)".
    public var description: String {
        "cannot \(operation): " + (detail.map { "\($0): " } ?? "") + "\(errno)"
    }

    /// The exit code by which shells report such a failure: 127 when the program does not exist, else 126.
    public var shellCode: Int32 {
        stage == .execute && errno == .noSuchFile ? 127 : 126
    }
}
