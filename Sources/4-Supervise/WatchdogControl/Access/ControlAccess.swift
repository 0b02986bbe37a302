// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The access rules for clients.
public struct ControlAccess: Hashable, Sendable {
    /// The user who owns this watchdogd.
    public let owner: UInt32

    /// Users without an id in this user namespace appear with this ID: user_namespaces(7).
    private static let overflowUser: UInt32 = 65_534

    /// Creates the rules of a watchdogd that `owner` owns.
    public init(owner: UInt32) {
        self.owner = owner
    }

    /// The rules of a watchdogd that its own user owns.
    public static var own: ControlAccess { ControlAccess(owner: geteuid()) }

    /// Root and the owner may do everything; others see only names and states.
    public func allows(_ right: ControlRight, to user: UInt32) -> Bool {
        switch right {
        case .observe: true
        // An owner with the overflow ID is indistinguishable from any unmapped user, and gets no rights.
        case .act, .inspect: user == 0 || (user == owner && user != Self.overflowUser)
        }
    }
}

/// A right of a client.
public enum ControlRight: String, Hashable, Sendable, CaseIterable {
    /// See the names and states of apps.
    case observe
    /// See everything else about apps: processes, messages, incidents, reports and output.
    case inspect
    /// Start, stop and capture apps, and reload the configuration.
    case act
}

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
