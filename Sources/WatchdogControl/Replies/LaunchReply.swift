// SPDX-License-Identifier: Apache-2.0

/// What `Launch` and `Restart` answer with.
public struct LaunchReply: ControlReply {
    /// The main process; nil when it is still to be started.
    public var pid: Int32?

    /// How an app ended that has done its work before it was ready: "exited with code 0".
    public var ended: String?

    /// Creates an answer.
    public init(pid: Int32? = nil, ended: String? = nil) {
        self.pid = pid
        self.ended = ended
    }
}
