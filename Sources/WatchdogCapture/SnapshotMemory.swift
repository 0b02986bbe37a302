// SPDX-License-Identifier: Apache-2.0

/// Bytes of the process's memory.
public struct SnapshotMemory: Sendable, Equatable {
    /// The address of the first byte.
    public var address: UInt64
    /// The bytes.
    public var bytes: ArraySlice<UInt8>

    /// The eight bytes at `address` as a little-endian number; nil unless all of them are included.
    public func word(at address: UInt64) -> UInt64? {
        guard address >= self.address, address - self.address <= UInt64(bytes.count), bytes.count >= 8 else {
            return nil
        }
        let offset = Int(address - self.address)
        guard offset <= bytes.count - 8 else { return nil }
        return bytes.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
    }
}
