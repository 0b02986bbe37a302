// SPDX-License-Identifier: Apache-2.0

/// The hash FNV-1a of 64 bits, which is the same in every run; Swift's own are not.
///
/// Against accidents, not against forgery. Source: draft-eastlake-fnv.
public struct FNV1a: Sendable {
    /// The hash of what was combined so far.
    public private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    /// Creates the hash of nothing.
    public init() {}

    /// Adds bytes; of several pieces the hash is that of all in a row.
    public mutating func combine(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { combine($0) }
    }

    /// Adds bytes where they are.
    public mutating func combine(_ bytes: UnsafeRawBufferPointer) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }

    /// The hash of a text's UTF-8.
    public static func hash(of text: String) -> UInt64 {
        var hash = FNV1a()
        hash.combine(Array(text.utf8))
        return hash.value
    }
}
