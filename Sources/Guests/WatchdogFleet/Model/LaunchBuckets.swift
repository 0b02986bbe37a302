// SPDX-License-Identifier: Apache-2.0

/// Launches of a version on all hosts, in the form of a Prometheus histogram.
struct LaunchBuckets: Equatable {
    /// The maximum plausible bound of a bucket: a year, in seconds.
    private static let longest = 366.0 * 86_400

    /// The number of launches up to each bound in seconds; that of the infinite bound is the total.
    private var counts: [Double: Double] = [:]

    /// The number of launches, rounded, but at least 1 for any fraction: Prometheus extrapolates rates to fractions.
    var count: Int {
        guard let all = counts[.infinity], all > 0 else { return 0 }
        return max(1, Int(min(all, 1e15).rounded()))
    }

    /// Adds launches up to a bound in seconds, which is infinity for the total; ignores invalid bounds.
    mutating func add(_ launches: Double, within bound: Double) {
        guard bound == .infinity || (bound > 0 && bound <= Self.longest) else { return }
        counts[bound, default: 0] += launches
    }

    mutating func add(_ others: LaunchBuckets) { counts.merge(others.counts, uniquingKeysWith: +) }

    /// The time that `fraction` of the launches did not exceed, computed like `histogram_quantile` of Prometheus.
    ///
    /// It is interpolated linearly between two bounds; above the last finite one, it is that bound. Nil without
    /// launches.
    func quantile(_ fraction: Double) -> Duration? {
        guard let all = counts[.infinity], all > 0 else { return nil }
        let rank = all * fraction
        var lower = (bound: 0.0, count: 0.0)
        for (bound, count) in counts.sorted(by: { $0.key < $1.key }) where bound.isFinite {
            // A greater bound with fewer launches is inconsistent, so keep counts ascending.
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
