// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// How often an app is probed, how long each probe may take, and how many failures make a hang.
public struct LivenessProbe: Hashable, Sendable, Codable {
    /// The target as written in settings: `tcp:127.0.0.1:6379`.
    public var target: String
    /// From the start of one probe to the start of the next, which never starts before the previous one has ended.
    public var interval: Duration
    /// How long a probe may take.
    public var timeout: Duration
    /// Consecutive failures that count as a hang.
    public var threshold: Int

    private enum CodingKeys: String, CodingKey { case target, interval, timeout, threshold }

    /// Creates a probe; interval and timeout must be positive, the threshold at least 1.
    public init(
        of target: String, interval: Duration = .seconds(3), timeout: Duration = .seconds(3), threshold: Int = 3
    ) {
        precondition(interval > .zero && timeout > .zero && threshold > 0, "a probe needs time and a threshold")
        self.target = target
        self.interval = interval
        self.timeout = timeout
        self.threshold = threshold
    }

    /// Whether the values are valid: saved ones may be damaged.
    var isValid: Bool { interval > .zero && timeout > .zero && threshold > 0 }

    /// From the start of the first failed probe to the incident, if no probe takes longer than the interval.
    public var allowance: Duration {
        let intervals = interval.nanoseconds.multipliedReportingOverflow(by: Int64(threshold - 1))
        return .nanoseconds(intervals.overflow ? .max : intervals.partialValue) + timeout
    }
}
