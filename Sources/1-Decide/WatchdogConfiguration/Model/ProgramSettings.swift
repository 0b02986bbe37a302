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
