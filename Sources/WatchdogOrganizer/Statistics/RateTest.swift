// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Whether something happens more often than before: the conditional test of two Poisson rates.
///
/// If the rates are equal, then of all `before + after` events the later ones have a binomial distribution whose
/// probability is the share of the later exposure. Source: Przyborowski and Wilenski, Biometrika 31 (1940).
public struct RateTest: Equatable, Sendable {
    /// Events before.
    public let before: Int
    /// Events after.
    public let after: Int
    /// How long it could have happened before, in any unit.
    public let exposureBefore: Double
    /// How long it could have happened after, in the same unit.
    public let exposureAfter: Double

    /// Creates a test; nil if either side has no exposure, or nothing happened.
    public init?(before: Int, after: Int, exposureBefore: Double, exposureAfter: Double) {
        guard before >= 0, after >= 0, before + after > 0, exposureBefore > 0, exposureAfter > 0,
            exposureBefore.isFinite, exposureAfter.isFinite
        else { return nil }
        self.before = before
        self.after = after
        self.exposureBefore = exposureBefore
        self.exposureAfter = exposureAfter
    }

    private var share: Double { exposureAfter / (exposureBefore + exposureAfter) }

    /// The later rate divided by the earlier one; infinite if nothing happened before.
    public var ratio: Double {
        before == 0 ? .infinity : Double(after) / exposureAfter / (Double(before) / exposureBefore)
    }

    /// The probability of at least `after` later events if the rates are equal; one-sided.
    public var p: Double { tail(from: after) }

    /// The smallest probability that these many events can have.
    public var smallestP: Double { exp(Double(before + after) * log(share)) }

    /// The probability of `count` or more of all events after.
    private func tail(from count: Int) -> Double {
        let all = before + after
        guard count > 0 else { return 1 }
        let (n, share) = (Double(all), share)
        var term = exp(
            lgamma(n + 1) - lgamma(Double(count) + 1) - lgamma(n - Double(count) + 1) + Double(count) * log(share)
                + (n - Double(count)) * log1p(-share))
        var sum = 0.0
        for k in count...all {
            sum += term
            guard k < all else { break }
            let next = term * Double(all - k) / Double(k + 1) * share / (1 - share)
            // Beyond the mode terms only become smaller.
            if next < term, next < sum * 1e-17 { break }
            term = next
        }
        return min(1, sum)
    }

    /// The largest p that counts, so that all tests together raise a false alarm with at most this probability.
    ///
    /// Tests that could not reach the limit whatever happened do not count as tests. Source: Tarone, Biometrics 46
    /// (1990).
    public static func limit(_ tests: [RateTest], falseAlarms: Double) -> Double {
        let smallest = tests.map(\.smallestP).sorted()
        // The number of candidates falls as the divisor grows, so that the first divisor that suffices is the best.
        for divisor in 1...max(1, tests.count) {
            let limit = falseAlarms / Double(divisor)
            if (divisor < smallest.count ? smallest[divisor] > limit : true) { return limit }
        }
        return falseAlarms / Double(max(1, tests.count))
    }
}
