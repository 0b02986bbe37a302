// SPDX-License-Identifier: Apache-2.0

/// What became of the kill.
public struct KillDetails: Codable, Equatable, Sendable {
    /// `none`, `verified`, `unverified` or `unkillable`.
    public var outcome: String
    /// From the decision until the last process was gone; only when verified.
    public var nanoseconds: Int64?
    /// Processes that outlived SIGKILL.
    public var survivors: [Int]
}
