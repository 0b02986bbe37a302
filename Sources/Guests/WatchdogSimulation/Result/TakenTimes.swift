// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The times that an app took for one kind of work.
public struct TakenTimes: Hashable, Sendable {
    /// The minimum number of times for a suggestion.
    ///
    /// With fewer, not even the largest one estimates the 99th percentile.
    public static let fewest = 100
    /// The shortest suggested allowance: below it, scheduling delays matter more than the app.
    public static let shortest = Duration.seconds(1)

    private var values: [Duration] = []
    private var cuts: [Duration] = []

    /// Creates an empty collection.
    public init() {}

    /// Adds a time.
    ///
    /// - Parameter isCut: whether a kill ended the time, so that the app would have taken longer.
    public mutating func add(_ value: Duration, isCut: Bool = false) {
        if isCut { cuts.append(value) } else { values.append(value) }
    }

    mutating func add(_ other: TakenTimes) {
        values += other.values
        cuts += other.cuts
    }

    mutating func sort() {
        values.sort()
        cuts.sort()
    }

    /// The number of times.
    public var count: Int { values.count + cuts.count }
    /// The number of times that a kill ended.
    public var cutCount: Int { cuts.count }
    /// The longest; nil if empty.
    public var maximum: Duration? { (values + cuts).max() }

    /// The shortest time that this share of the times does not exceed (nearest rank); nil if empty, or if it is one
    /// that a kill cut off.
    ///
    /// Cut times count as longer than all others.
    ///
    /// - Parameter tenths: the share in tenths of a percent: 999 for the 99.9th percentile.
    public func percentile(tenths: Int) -> Duration? {
        let sorted = values.sorted()
        let rank = max(1, (count * tenths + 999) / 1_000)
        return rank <= sorted.count ? sorted[rank - 1] : nil
    }

    /// The suggested allowance: their 99.9th percentile times a margin, rounded up to two digits.
    ///
    /// Nil if there are fewer than ``fewest``, or if the percentile is unknown.
    public func suggestion(margin: Double) -> Duration? {
        guard count >= Self.fewest, let base = percentile(tenths: 999) else { return nil }
        let product = Double(base.nanoseconds) * margin
        let wanted = max(Self.shortest, .nanoseconds(product < 9e18 ? Int64(product) : .max))
        return Self.roundedUp(min(wanted, TraceEvent.longest))
    }

    private static func roundedUp(_ duration: Duration) -> Duration {
        let milliseconds = (duration.nanoseconds + 999_999) / 1_000_000
        var unit: Int64 = 1
        while milliseconds / unit >= 100 { unit *= 10 }
        return .milliseconds((milliseconds + unit - 1) / unit * unit)
    }
}
