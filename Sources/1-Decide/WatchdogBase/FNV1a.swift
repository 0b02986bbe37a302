// SPDX-License-Identifier: Apache-2.0

/// The 64-bit FNV-1a hash, which is the same in every run; Swift's own hashes are not.
///
/// Protects against accidents, not against forgery. Source: draft-eastlake-fnv.
public struct FNV1a: Sendable {
    /// The hash of everything combined so far.
    public private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    /// Creates the hash of an empty input.
    public init() {}

    /// Adds bytes; the hash of several pieces is that of their concatenation.
    public mutating func combine(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { combine($0) }
    }

    /// Adds bytes without copying them.
    public mutating func combine(_ bytes: UnsafeRawBufferPointer) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }

    /// The hash of a text's UTF-8 bytes.
    public static func hash(of text: String) -> UInt64 {
        var hash = FNV1a()
        hash.combine(Array(text.utf8))
        return hash.value
    }
}
