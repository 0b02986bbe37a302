// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
public import WatchdogPolicy

/// A restart limit that was reached.
public struct LimitSummary: Hashable, Sendable, Codable {
    /// The key that sets it in the section `[Restart]`: "LimitHang".
    public var key: String
    /// The cause whose restarts it counts; nil for all causes without a limit of their own.
    public var cause: String?
    /// The number of restarts it allows.
    public var restarts: Int
    /// The interval in which they are counted.
    public var interval: Microseconds

    /// Creates a summary.
    public init(_ limit: RestartSettings.ReachedLimit) {
        key = limit.key
        cause = limit.cause?.rawValue
        restarts = limit.count
        interval = Microseconds(limit.interval)
    }

    private enum CodingKeys: String, CodingKey {
        case key
        case cause
        case restarts
        case interval = "intervalUSec"
    }

    /// The limit in words: "5 restarts for hang within 10min, the limit of [Restart] LimitHang=".
    public var words: String {
        let count = restarts.counted("restart") + (cause.map { " for \($0)" } ?? "")
        return "\(count) within \(TimeSpan.text(interval.duration)), the limit of [Restart] \(key)="
    }
}
