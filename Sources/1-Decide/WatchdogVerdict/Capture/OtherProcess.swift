// SPDX-License-Identifier: Apache-2.0

/// A process of the app other than its main process.
public struct OtherProcess: Equatable, Sendable {
    /// The process ID.
    public var pid: Int
    /// The ID of the parent process.
    public var parentPID: Int
    /// The name of the process (`comm`), which it can set.
    public var name: String
    /// The state of its first thread.
    public var state: Character
    /// The arguments, not redacted; the report redacts them.
    public var arguments: [String] = []
    /// The wait of its first thread, the wait of that wait's holder, and so on.
    public var waits: [WaitDetails] = []
    /// Its stacks; nil if they were not captured.
    public var capture: CapturedProcess?
    /// The reason why there are no stacks; nil if there are.
    public var failure: String?

    /// Creates a value from the mandatory facts; the others are set afterward.
    public init(pid: Int, parentPID: Int, name: String, state: Character) {
        self.pid = pid
        self.parentPID = parentPID
        self.name = name
        self.state = state
    }
}
