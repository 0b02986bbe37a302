// SPDX-License-Identifier: Apache-2.0

/// What `Launch` and `Restart` answer with.
public struct LaunchReply: ControlReply {
    /// The main process; nil when it is still to be started.
    public var pid: Int32?

    /// Creates an answer.
    public init(pid: Int32? = nil) {
        self.pid = pid
    }
}
