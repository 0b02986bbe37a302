// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// How long an app took, time after time.
public struct TakenTimes: Hashable, Sendable {
    /// The fewest times that a suggestion is made from.
    ///
    /// Of fewer, not even the largest says much about one in a hundred.
    public static let fewest = 100
    /// The shortest allowance that is suggested: below, the scheduler decides more often than the app.
    public static let shortest = Duration.seconds(1)

    private var values: [Duration] = []
    private var cuts: [Duration] = []

    /// Starts with none.
    public init() {}

    /// Adds a time.
    ///
    /// - Parameter isCut: whether the app was killed then, so that it would have taken longer.
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

    /// How many there are.
    public var count: Int { values.count + cuts.count }
    /// How many of them ended with a kill.
    public var cutCount: Int { cuts.count }
    /// The longest; nil if there are none.
    public var maximum: Duration? { (values + cuts).max() }

    /// The shortest time that this share of the times does not exceed (nearest rank); nil if there are none, or if it
    /// is known only to be longer than the allowance of the time.
    ///
    /// What was cut counts as longer than everything else.
    ///
    /// - Parameter tenths: the share in tenths of a percent: 999 for the 99.9th percentile.
    public func percentile(tenths: Int) -> Duration? {
        let sorted = values.sorted()
        let rank = max(1, (count * tenths + 999) / 1_000)
        return rank <= sorted.count ? sorted[rank - 1] : nil
    }

    /// The allowance that these times suggest: their 99.9th percentile times a margin, rounded up to two digits.
    ///
    /// Nil if there are fewer than ``fewest``, or if the percentile is not known.
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
