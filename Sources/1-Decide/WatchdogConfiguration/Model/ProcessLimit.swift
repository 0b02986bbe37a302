// SPDX-License-Identifier: Apache-2.0

/// One `Limit…=` setting, in the unit of setrlimit(2).
public struct ProcessLimit: Hashable, Sendable {
    /// The value for no limit: `RLIM_INFINITY`.
    public static let infinity = UInt64.max

    /// The limited resource.
    public var resource: LimitedResource
    /// The value that the kernel enforces.
    public var soft: UInt64
    /// The maximum to which the process itself may raise the soft limit; never below it.
    public var hard: UInt64

    /// Creates a limit.
    public init(_ resource: LimitedResource, soft: UInt64, hard: UInt64) {
        precondition(soft <= hard, "a soft limit cannot be above the hard one")
        self.resource = resource
        self.soft = soft
        self.hard = hard
    }
}
