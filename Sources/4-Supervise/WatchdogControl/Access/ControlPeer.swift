// SPDX-License-Identifier: Apache-2.0

/// The process at the other end of a connection, as the kernel recorded it when the connection was made.
public struct ControlPeer: Hashable, Sendable, CustomStringConvertible {
    /// The process id; 0 if it is outside watchdogd's pid namespace.
    public let pid: Int32
    /// Its effective user.
    public let user: UInt32
    /// Its effective group.
    public let group: UInt32

    /// Creates a peer.
    public init(pid: Int32, user: UInt32, group: UInt32) {
        self.pid = pid
        self.user = user
        self.group = group
    }

    /// "pid 4711 of user 1000".
    public var description: String { "pid \(pid) of user \(user)" }
}
