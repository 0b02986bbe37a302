// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The share of the storms, and of other tests with random inputs, that is run, from `WATCHDOGD_STORM_SCALE`: 1, the
/// default, is a fifth, and 5 is all of them.
public enum StormScale {
    private static let value = getenv("WATCHDOGD_STORM_SCALE").flatMap { Double(String(cString: $0)) } ?? 1

    /// Whether the storms run completely.
    public static let isWhole = value >= 5

    /// A share of the seeds or events of the whole, at least one.
    public static func part(of whole: Int) -> Int { max(1, Int((Double(whole) * value / 5).rounded(.up))) }
}
