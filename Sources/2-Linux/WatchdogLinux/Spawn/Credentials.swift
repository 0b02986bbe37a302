// SPDX-License-Identifier: Apache-2.0

import CLinux

/// The user and groups that a process runs as.
public struct Credentials: Hashable, Sendable {
    /// The real, effective and saved user ID.
    public var user: UInt32
    /// The real, effective and saved group ID.
    public var group: UInt32
    /// The supplementary groups.
    public var supplementaryGroups: [UInt32]

    /// Creates credentials from IDs.
    public init(user: UInt32, group: UInt32, supplementaryGroups: [UInt32] = []) {
        self.user = user
        self.group = group
        self.supplementaryGroups = supplementaryGroups
    }

    /// Whether this process may start others as another user; root in a container without `CAP_SETUID` and `CAP_SETGID`
    /// may not.
    public static var canBeChanged: Bool { wd_may_change_user() }
}
