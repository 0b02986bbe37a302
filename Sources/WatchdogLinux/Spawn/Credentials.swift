// SPDX-License-Identifier: Apache-2.0

/// Whose rights a process has.
public struct Credentials: Hashable, Sendable {
    /// The real, effective and saved user id.
    public var user: UInt32
    /// The real, effective and saved group id.
    public var group: UInt32
    /// The supplementary groups.
    public var supplementaryGroups: [UInt32]

    /// Creates credentials from ids.
    public init(user: UInt32, group: UInt32, supplementaryGroups: [UInt32] = []) {
        self.user = user
        self.group = group
        self.supplementaryGroups = supplementaryGroups
    }
}
