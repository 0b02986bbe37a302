// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Who may do what.
public struct ControlAccess: Hashable, Sendable {
    /// The user whose watchdogd it is.
    public let owner: UInt32

    /// Users that have no number in this user namespace appear under this one: user_namespaces(7).
    private static let overflowUser: UInt32 = 65_534

    /// Creates the rules of a watchdogd that belongs to `owner`.
    public init(owner: UInt32) {
        self.owner = owner
    }

    /// The rules of a watchdogd that belongs to the user it runs as.
    public static var own: ControlAccess { ControlAccess(owner: geteuid()) }

    /// Root and the owner may do everything, others may look.
    public func allows(_ right: ControlRight, to user: UInt32) -> Bool {
        switch right {
        case .observe: true
        // An owner with the overflow number cannot be told from a stranger.
        case .act, .readLogs: user == 0 || (user == owner && user != Self.overflowUser)
        }
    }
}
