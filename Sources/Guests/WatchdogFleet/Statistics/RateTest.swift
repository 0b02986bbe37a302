// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Tests whether events are more frequent than before: the conditional test of Poisson rates, stratified by host.
///
/// If the rates are equal on every host, then the number of later events among a host's events has a binomial
/// distribution, whose probability is the share of the later exposure. Source: Przyborowski and Wilenski, Biometrika 31
/// (1940). The sum over hosts has a tail that is at most that of one binomial distribution with the mean probability.
/// Source: Hoeffding, Annals of Mathematical Statistics 27 (1956).
public struct RateTest: Equatable, Sendable {
    /// The data of one host.
    public struct Host: Equatable, Sendable {
        /// The number of events before.
        public var before = 0
        /// The number of events after.
        public var after = 0
        /// The exposure before, in any unit of time.
        public var exposureBefore = 0.0
        /// The exposure after, in the same unit.
        public var exposureAfter = 0.0

        /// Creates a host.
        public init(before: Int, after: Int, exposureBefore: Double, exposureAfter: Double) {
            self.before = before
            self.after = after
            self.exposureBefore = exposureBefore
            self.exposureAfter = exposureAfter
        }

        /// Whether before and after can be compared.
        fileprivate var isComparable: Bool {
            before >= 0 && after >= 0 && before + after > 0 && exposureBefore > 0 && exposureAfter > 0
                && exposureBefore.isFinite && exposureAfter.isFinite
        }
    }

    /// The number of events before, on comparable hosts.
    public let before: Int
    /// The number of events after.
    public let after: Int
    /// The later rate divided by the earlier one, with the hosts weighted by Mantel and Haenszel; infinite without
    /// events before.
    public let ratio: Double
    /// The mean probability that an event is a later one.
    private let share: Double

    /// Creates a test; nil if no host has both exposures and an event.
    public init?(_ hosts: some Sequence<Host>) {
        var (before, after, expected, later, earlier) = (0, 0, 0.0, 0.0, 0.0)
        for host in hosts where host.isComparable {
            let share = host.exposureAfter / (host.exposureBefore + host.exposureAfter)
            before += host.before
            after += host.after
            expected += Double(host.before + host.after) * share
            later += Double(host.after) * (1 - share)
            earlier += Double(host.before) * share
        }
        guard before + after > 0 else { return nil }
        self.before = before
        self.after = after
        share = min(max(expected / Double(before + after), 1e-300), 1 - 1e-16)
        ratio = earlier > 0 ? later / earlier : .infinity
    }

    /// An upper bound of the probability of at least ``after`` later events if the rates are equal; one-sided.
    public var p: Double {
        let mean = Double(before + after) * share
        guard Double(after) > mean else { return 1 - sum(from: after - 1, by: -1) }
        return sum(from: after, by: 1)
    }

    /// The smallest probability that this many events can have.
    public var smallestP: Double { exp(Double(before + after) * log(share)) }

    /// The probability of this number and all beyond it, away from the mean.
    private func sum(from count: Int, by step: Int) -> Double {
        let all = before + after
        guard (0...all).contains(count) else { return 0 }
        let (n, odds) = (Double(all), share / (1 - share))
        var term = exp(
            lgamma(n + 1) - lgamma(Double(count) + 1) - lgamma(n - Double(count) + 1) + Double(count) * log(share)
                + (n - Double(count)) * log1p(-share))
        var sum = 0.0
        var k = count
        while (0...all).contains(k), term > sum * 1e-17 {
            sum += term
            term *= step > 0 ? Double(all - k) / Double(k + 1) * odds : Double(k) / Double(all - k + 1) / odds
            k += step
        }
        return min(1, sum)
    }

    /// The maximum significant p, so that all tests together raise a false alarm with at most this probability.
    ///
    /// Tests that cannot reach the limit for any outcome are not counted. Source: Tarone, Biometrics 46 (1990).
    public static func limit(_ tests: [RateTest], falseAlarms: Double) -> Double {
        let smallest = tests.map(\.smallestP).sorted()
        // The number of candidates falls as the divisor grows, so the first sufficient divisor is the best.
        for divisor in 1...max(1, tests.count) {
            let limit = falseAlarms / Double(divisor)
            if divisor >= smallest.count || smallest[divisor] > limit { return limit }
        }
        return falseAlarms / Double(max(1, tests.count))
    }
}
