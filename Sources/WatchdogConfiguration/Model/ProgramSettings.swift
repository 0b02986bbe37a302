// SPDX-License-Identifier: Apache-2.0

/// The program of an app and the process that it becomes: the section `[App]`.
public struct ProgramSettings: Hashable, Sendable {
    /// `ExecStart=`: the program.
    public var command: Command
    /// `ExecStartPre=`: what runs before it, one after the other.
    public var preparations: [Command] = []
    /// `ExecReload=`: what runs when the app is asked to read its configuration again, one after the other.
    public var reloadCommands: [Command] = []
    /// `Description=`: what people call it.
    public var description: String?
    /// `User=`: name or number; nil for the daemon's user.
    public var user: String?
    /// `Group=`: name or number; nil for the user's group.
    public var group: String?
    /// `SupplementaryGroups=`: names or numbers, in addition to those of the user.
    public var supplementaryGroups: [String] = []
    /// `WorkingDirectory=`: nil for `/` in a system daemon, for the user's home in a user's.
    public var workingDirectory: WorkingDirectory?
    /// `Environment=`: variables, each name once, in the order in which they were first set.
    public var environment: [EnvironmentVariable] = []
    /// `EnvironmentFile=`: files of variables; theirs win over ``environment``, later files over earlier ones.
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
    /// `NoNewPrivileges=`: whether set-user-id files and file capabilities are without effect.
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
