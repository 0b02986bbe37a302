// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The rules of who may do what.
public struct ControlAccess: Hashable, Sendable {
    /// The user that watchdogd belongs to.
    public let owner: UInt32

    /// Users without an id in this user namespace appear as this one: user_namespaces(7).
    private static let overflowUser: UInt32 = 65_534

    /// Creates the rules of a watchdogd that belongs to `owner`.
    public init(owner: UInt32) {
        self.owner = owner
    }

    /// The rules of a watchdogd that belongs to the user it runs as.
    public static var own: ControlAccess { ControlAccess(owner: geteuid()) }

    /// Root and the owner may do everything; others see only names and states.
    public func allows(_ right: ControlRight, to user: UInt32) -> Bool {
        switch right {
        case .observe: true
        // An owner with the overflow id looks like any unmapped user.
        case .act, .inspect: user == 0 || (user == owner && user != Self.overflowUser)
        }
    }
}
