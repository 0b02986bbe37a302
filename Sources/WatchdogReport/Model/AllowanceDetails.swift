// SPDX-License-Identifier: Apache-2.0

/// The allowance that was exhausted, all times in nanoseconds.
public struct AllowanceDetails: Codable, Equatable, Sendable {
    /// What the app was watched for, such as `scene-update`.
    public var event: String
    /// What ran out: `wall-clock`, `cpu-time`, `termination`, or `triggered` when the app itself asked for its end.
    public var kind: String
    /// The allowance as configured.
    public var nanoseconds: Int64
    /// What the main thread's run delay added to it.
    public var creditNanoseconds: Int64
    /// What the app's own requests added to it.
    public var extendedNanoseconds: Int64
    /// For how long its clock stood still.
    public var pausedNanoseconds: Int64
    /// From its start to the last look at the process.
    public var elapsedNanoseconds: Int64
}
