// SPDX-License-Identifier: Apache-2.0

/// The exhausted allowance; all times are in nanoseconds.
public struct AllowanceDetails: Codable, Equatable, Sendable {
    /// What the app was watched for, such as `scene-update`.
    public var event: String
    /// What ran out: `wall-clock`, `cpu-time`, `termination`, or `triggered` when the app itself asked to be killed.
    public var kind: String
    /// The allowance, as configured.
    public var nanoseconds: Int64
    /// The credit for the main thread's run delay.
    public var creditNanoseconds: Int64
    /// The extensions that the app asked for.
    public var extendedNanoseconds: Int64
    /// How long the clock was paused.
    public var pausedNanoseconds: Int64
    /// The time from the start of the allowance to the last examination of the process.
    public var elapsedNanoseconds: Int64
}
