// SPDX-License-Identifier: Apache-2.0

/// The reply to `Launch` and `Restart`.
public struct LaunchReply: ControlReply {
    /// The main process; nil before it is started.
    public var pid: Int32?

    /// The exit of an app that completed its work before it was ready: "exited with code 0".
    public var ended: String?

    /// Creates a reply.
    public init(pid: Int32? = nil, ended: String? = nil) {
        self.pid = pid
        self.ended = ended
    }
}
