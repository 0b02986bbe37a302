// SPDX-License-Identifier: Apache-2.0

/// An amount of a resource: a number, or a share of what the machine has.
public enum ResourceAmount: Hashable, Sendable {
    /// A number of bytes or tasks.
    case absolute(UInt64)
    /// A share in hundredths of a percent, 1 … 10,000.
    case share(hundredthsOfPercent: UInt64)

    /// The amount on a machine that has `total`.
    public func resolved(of total: UInt64) -> UInt64 {
        switch self {
        case .absolute(let amount): amount
        case .share(let share):
            // A share is at most the whole, so the quotient fits.
            UInt64(10_000).dividingFullWidth(total.multipliedFullWidth(by: min(share, 10_000))).quotient
        }
    }
}
