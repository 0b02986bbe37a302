// SPDX-License-Identifier: Apache-2.0

/// The exhausted allowance; all times are in nanoseconds.
public struct AllowanceDetails: Codable, Equatable, Sendable {
    /// The watched event, such as `scene-update`.
    public var event: String
    /// The exhausted resource: `wall-clock`, `cpu-time`, `termination`, or `triggered` if the app itself requested the
    /// kill.
    public var kind: String
    /// The allowance, as configured.
    public var nanoseconds: Int64
    /// The credit for the main thread's run delay.
    public var creditNanoseconds: Int64
    /// The extensions that were granted to the app.
    public var extendedNanoseconds: Int64
    /// The time for which the clock was paused.
    public var pausedNanoseconds: Int64
    /// The time from the start of the allowance to the last examination of the process.
    public var elapsedNanoseconds: Int64
}
