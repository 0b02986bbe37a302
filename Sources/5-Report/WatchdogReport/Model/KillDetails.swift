// SPDX-License-Identifier: Apache-2.0

/// The outcome of the kill.
public struct KillDetails: Codable, Equatable, Sendable {
    /// `none`, `verified`, `unverified` or `unkillable`.
    public var outcome: String
    /// The time from the decision until the last process was gone; present only when verified.
    public var nanoseconds: Int64?
    /// Processes that outlived SIGKILL.
    public var survivors: [Int]
}
