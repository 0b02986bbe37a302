// SPDX-License-Identifier: Apache-2.0

/// The measures by which a kill is put off because the machine, not the app, may be to blame.
public struct Fairness: Hashable, Sendable, Codable {
    /// A deadline noticed later than this is distrusted: the supervisor itself did not run (Chromium's hang watcher
    /// uses the same bound).
    public var oversleep: Duration = .milliseconds(100)
    /// The share of the allowance that run delay must reach before it counts, in percent: the scheduler's ordinary
    /// microseconds must not make every kill late.
    public var creditFloorPercent: Int64 = 1
    /// The most that run delay can add to an allowance, in percent of it (Android's AnrTimer has the same bound).
    public var creditCapPercent: Int64 = 100
    /// Time between two looks at a process that is stopped, frozen or traced.
    public var pauseInterval: Duration = .milliseconds(250)
    /// The most by which an app can extend one allowance with `EXTEND_TIMEOUT_USEC`.
    public var extensionCap: Duration = .seconds(600)
    /// Whether an extension counts that shows no progress, as under systemd.
    public var allowsBlindExtension = false

    /// Creates the default measures.
    public init() {}
}
