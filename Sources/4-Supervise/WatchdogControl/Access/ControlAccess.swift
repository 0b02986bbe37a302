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
