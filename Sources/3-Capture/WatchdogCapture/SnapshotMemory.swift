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

    /// The stack pointer that a signal handler interrupted, if these bytes are of the alternate stack on which it runs.
    ///
    /// The kernel pushes a `ucontext` above the handler's frames; `stacks.c` finds it in the same way in a live
    /// process.
    func interruptedPointer(from pointer: UInt64) -> UInt64? {
        let (flags, link, base, size, stackPointer, program, segments, length) = (0, 8, 16, 32, 160, 168, 184, 192)
        let end = min(bytes.count, 32 << 10)
        guard end >= length else { return nil }
        return bytes.withUnsafeBytes { bytes in
            func word(_ offset: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
            for offset in stride(from: 0, through: end - length, by: 8)
            where word(offset + segments) & 0xffff == 0x33 && word(offset + flags) <= 7 && word(offset + link) == 0
                && word(offset + program) != 0 && pointer &- word(offset + base) < word(offset + size)
            {
                let saved = word(offset + stackPointer)
                if saved &- word(offset + base) >= word(offset + size) { return saved }
            }
            return nil
        }
    }
}
