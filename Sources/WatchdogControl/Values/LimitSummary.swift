// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// A limit of restarts that is reached.
public struct LimitSummary: Hashable, Sendable, Codable {
    /// What sets it in the section `[Restart]`: "LimitHang".
    public var key: String
    /// Whose restarts it counts; nil: of all causes together that have no limit of their own.
    public var cause: String?
    /// So many it allows.
    public var restarts: Int
    /// The time within which they are counted.
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

    /// In plain words: "5 restarts for hang within 10min, the limit of [Restart] LimitHang=".
    public var words: String {
        let count = "\(restarts) \(restarts == 1 ? "restart" : "restarts")" + (cause.map { " for \($0)" } ?? "")
        return "\(count) within \(TimeSpan.format(interval.duration)), the limit of [Restart] \(key)="
    }
}
