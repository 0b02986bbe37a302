// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// When a kill is postponed because the machine, not the app, may be to blame.
public struct Fairness: Hashable, Sendable, Codable {
    /// A deadline noticed later than this is distrusted, because the supervisor itself did not run.
    ///
    /// Chromium's hang watcher uses the same bound.
    public var oversleep: Duration = .milliseconds(100)
    /// The percentage of the allowance that run delay must reach to count.
    ///
    /// The scheduler's ordinary microseconds must not delay every kill.
    public var creditFloorPercent: Int64 = 1
    /// The most that run delay can add to an allowance, as a percentage.
    ///
    /// Android's AnrTimer has the same bound.
    public var creditCapPercent: Int64 = 100
    /// The time between two examinations of a process that is stopped, frozen or traced.
    public var pauseInterval: Duration = .milliseconds(250)
    /// The most that an app can add to one allowance with `EXTEND_TIMEOUT_USEC`.
    public var extensionCap: Duration = .seconds(600)
    /// Whether an extension without progress counts, as it does in systemd.
    public var allowsBlindExtension = false

    private enum CodingKeys: String, CodingKey {
        case oversleep, creditFloorPercent, creditCapPercent, pauseInterval, extensionCap, allowsBlindExtension
    }

    /// Creates the default settings.
    public init() {}

    /// What a deadline means at an instant.
    enum Passage: Hashable, Sendable {
        /// It lies ahead.
        case ahead
        case passed
        /// It has passed, but was noticed too late to be trusted.
        case overslept(by: Duration)
    }

    /// Decides whether a deadline has passed and can be trusted.
    func passage(of deadline: Instant, at now: Instant) -> Passage {
        let lateness = now - deadline
        guard lateness >= .zero else { return .ahead }
        return lateness > oversleep ? .overslept(by: lateness) : .passed
    }

    /// The credit for run delay; nil if the delay is too small to count.
    func credit(for runDelay: Duration, of budget: Duration) -> Duration? {
        let credit = min(runDelay, budget * creditCapPercent / 100)
        guard credit > .zero, runDelay >= budget * creditFloorPercent / 100 else { return nil }
        return credit
    }
}
