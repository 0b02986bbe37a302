// SPDX-License-Identifier: Apache-2.0

/// The program of an app and the attributes of its process: the section `[App]`.
public struct ProgramSettings: Hashable, Sendable {
    /// `ExecStart=`: the program.
    public var command: Command
    /// `ExecStartPre=`: commands that run before it, one after the other.
    public var preparations: [Command] = []
    /// `ExecReload=`: commands that run when the app is asked to reload its configuration, one after the other.
    public var reloadCommands: [Command] = []
    /// `Description=`: its name for people.
    public var description: String?
    /// `Version=`: its version for reports; nil if it is not known.
    public var version: String?
    /// `User=`: a name or number; nil for the daemon's user.
    public var user: String?
    /// `Group=`: a name or number; nil for the user's group.
    public var group: String?
    /// `SupplementaryGroups=`: names or numbers, in addition to those of the user.
    public var supplementaryGroups: [String] = []
    /// `WorkingDirectory=`: nil for `/` in a system daemon, and for the user's home in a user's daemon.
    public var workingDirectory: WorkingDirectory?
    /// `Environment=`: variables, each name once, in the order in which they were first set.
    public var environment: [EnvironmentVariable] = []
    /// `EnvironmentFile=`: environment files; they override ``environment``, and later files override earlier ones.
    public var environmentFiles: [EnvironmentFile] = []
    /// `UMask=`: the file mode creation mask.
    public var fileModeMask: UInt32 = 0o022
    /// `Nice=`: the nice value; nil for the daemon's.
    public var niceness: Int?
    /// `OOMScoreAdjust=`: −1000 … 1000; nil for the daemon's.
    public var oomScoreAdjustment: Int?
    /// `Limit…=`: resource limits, each resource once.
    public var limits: [ProcessLimit] = []
    /// `StandardOutput=`.
    public var standardOutput = OutputTarget.journal
    /// `StandardError=`.
    public var standardError = OutputTarget.inherit
    /// `NoNewPrivileges=`: whether set-user-id files and file capabilities have no effect.
    public var noNewPrivileges = false
    /// `CPUQuota=`: CPU time per second of wall-clock time; nil for no limit.
    public var cpuQuota: Duration?
    /// `MemoryMax=`: bytes; nil for no limit.
    public var memoryMaximum: ResourceAmount?
    /// `TasksMax=`: processes and threads; nil for no limit.
    public var tasksMaximum: ResourceAmount?

    /// Creates the default settings for a program.
    public init(command: Command) {
        self.command = command
    }
}

/// The working directory of an app.
public struct WorkingDirectory: Hashable, Sendable {
    /// A directory.
    public enum Location: Hashable, Sendable {
        /// An absolute path.
        case path(String)
        /// `~`: the home directory of the app's user.
        case home
    }

    /// The directory.
    public var location: Location
    /// `-`: if it does not exist, the app starts in the default directory.
    public var isOptional: Bool

    /// Creates a working directory.
    public init(_ location: Location, isOptional: Bool = false) {
        self.location = location
        self.isOptional = isOptional
    }
}

/// Where an app's standard output or error goes.
public enum OutputTarget: Hashable, Sendable {
    /// The journal.
    case journal
    /// For standard output, the daemon's own; for standard error, wherever standard output goes.
    case inherit
    /// Nowhere.
    case null
    /// A file, written from its start without truncating it.
    case file(path: String)
    /// A file, appended to.
    case append(path: String)
    /// A file, truncated at each launch.
    case truncate(path: String)
}

/// One `Limit…=` setting, in the unit of setrlimit(2).
public struct ProcessLimit: Hashable, Sendable {
    /// The value for no limit: `RLIM_INFINITY`.
    public static let infinity = UInt64.max

    /// The limited resource.
    public var resource: LimitedResource
    /// The value that the kernel enforces.
    public var soft: UInt64
    /// The maximum to which the process itself may raise the soft limit; never below it.
    public var hard: UInt64

    /// Creates a limit.
    public init(_ resource: LimitedResource, soft: UInt64, hard: UInt64) {
        precondition(soft <= hard, "a soft limit cannot be above the hard one")
        self.resource = resource
        self.soft = soft
        self.hard = hard
    }
}

/// An amount of a resource: a number, or a share of what the machine has.
public enum ResourceAmount: Hashable, Sendable {
    /// A number of bytes or tasks.
    case absolute(UInt64)
    /// A share in hundredths of a percent, 1 … 10,000.
    case share(hundredthsOfPercent: UInt64)

    /// The amount on a machine that has `total`.
    public func resolved(of total: UInt64) -> UInt64 {
        switch self {
        case .absolute(let amount): amount
        case .share(let share):
            // A share is at most the whole, so the quotient fits.
            UInt64(10_000).dividingFullWidth(total.multipliedFullWidth(by: min(share, 10_000))).quotient
        }
    }
}
