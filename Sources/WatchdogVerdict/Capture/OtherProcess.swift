// SPDX-License-Identifier: Apache-2.0

/// What is known of a process of the app other than its main process.
public struct OtherProcess: Equatable, Sendable {
    /// The process ID.
    public var pid: Int
    /// The ID of the parent process.
    public var parentPID: Int
    /// The name that the process gave itself.
    public var name: String
    /// The state of its first thread.
    public var state: Character
    /// The arguments, not redacted; the report redacts them.
    public var arguments: [String] = []
    /// What its first thread waits for, what the holder waits for, and so on.
    public var waits: [WaitDetails] = []
    /// Its stacks; nil if they were not captured.
    public var capture: CapturedProcess?
    /// Why there are no stacks.
    public var failure: String?

    /// Creates a value from what is always known; the rest is set afterward.
    public init(pid: Int, parentPID: Int, name: String, state: Character) {
        self.pid = pid
        self.parentPID = parentPID
        self.name = name
        self.state = state
    }
}
