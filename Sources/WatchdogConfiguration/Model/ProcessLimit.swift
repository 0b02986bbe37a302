// SPDX-License-Identifier: Apache-2.0

/// One `Limit…=` setting, in the unit of setrlimit(2).
public struct ProcessLimit: Hashable, Sendable {
    /// The value of a limit that does not limit: `RLIM_INFINITY`.
    public static let infinity = UInt64.max

    /// What is limited.
    public var resource: LimitedResource
    /// The value enforced.
    public var soft: UInt64
    /// The most to which the process may raise the soft limit itself; never below it.
    public var hard: UInt64

    /// Creates a limit.
    public init(_ resource: LimitedResource, soft: UInt64, hard: UInt64) {
        precondition(soft <= hard, "a soft limit cannot be above the hard one")
        self.resource = resource
        self.soft = soft
        self.hard = hard
    }
}
