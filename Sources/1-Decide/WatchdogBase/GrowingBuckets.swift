// SPDX-License-Identifier: Apache-2.0

/// Buckets for whole numbers whose width grows with the value, so that each is at most 2⁻ᵇⁱᵗˢ of its values wide.
///
/// Values below 2ᵇⁱᵗˢ have a bucket each.
public struct GrowingBuckets: Sendable {
    private let bits: Int

    /// - Parameter bits: 2ᵇⁱᵗˢ buckets cover the values from one power of two to the next; within 0...16.
    public init(bits: Int) { self.bits = min(max(bits, 0), 16) }

    /// The bucket of a value, from 0 on.
    public func bucket(of value: UInt64) -> Int {
        guard value >= 1 << UInt64(bits) else { return Int(value) }
        let exponent = 63 - value.leadingZeroBitCount
        return (exponent - bits) << bits + Int(value >> UInt64(exponent - bits))
    }

    /// The smallest value of a bucket, which is the end of the one before.
    public func start(of bucket: Int) -> UInt64 {
        guard bucket >= 1 << bits else { return UInt64(bucket) }
        let mantissa = UInt64(bucket & (1 << bits - 1)) + 1 << UInt64(bits)
        return mantissa << UInt64(bucket >> bits - 1)
    }
}
