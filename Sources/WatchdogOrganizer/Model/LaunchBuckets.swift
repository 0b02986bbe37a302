// SPDX-License-Identifier: Apache-2.0

/// Launches of a version on all hosts, as a histogram of Prometheus counts them.
struct LaunchBuckets: Equatable {
    /// Above this, the bound of a bucket is no time of a launch: a year, in seconds.
    private static let longest = 366.0 * 86_400

    /// How many launches took no longer than a bound in seconds; all of them did not exceed the infinite one.
    private var counts: [Double: Double] = [:]

    /// How many launches there were: rates of fractions of hours count fractions, of which any is a launch.
    var count: Int {
        guard let all = counts[.infinity], all > 0 else { return 0 }
        return max(1, Int(min(all, 1e15).rounded()))
    }

    /// Adds launches that took no longer than a bound in seconds, infinity for all; other bounds do not count.
    mutating func add(_ launches: Double, within bound: Double) {
        guard bound == .infinity || (bound > 0 && bound <= Self.longest) else { return }
        counts[bound, default: 0] += launches
    }

    /// Adds the launches of others.
    mutating func add(_ others: LaunchBuckets) { counts.merge(others.counts, uniquingKeysWith: +) }

    /// The time that `fraction` of the launches did not exceed, as `histogram_quantile` of Prometheus computes it.
    ///
    /// Between two bounds, it is on a straight line; above the last finite one, it is that bound. Nil without launches.
    func quantile(_ fraction: Double) -> Duration? {
        guard let all = counts[.infinity], all > 0 else { return nil }
        let rank = all * fraction
        var lower = (bound: 0.0, count: 0.0)
        for (bound, count) in counts.sorted(by: { $0.key < $1.key }) where bound.isFinite {
            // A greater bound with fewer launches contradicts the smaller one.
            let count = max(count, lower.count)
            guard count < rank else {
                let share = count > lower.count ? (rank - lower.count) / (count - lower.count) : 0
                return Self.duration(lower.bound + (bound - lower.bound) * share)
            }
            lower = (bound, count)
        }
        return lower.bound > 0 ? Self.duration(lower.bound) : nil
    }

    private static func duration(_ seconds: Double) -> Duration { .microseconds(Int64((seconds * 1e6).rounded())) }
}
