// SPDX-License-Identifier: Apache-2.0

/// Encodes numbers in base 128 (LEB128), so that a number below 128 takes one byte.
enum Base128 {
    static func append(_ value: UInt64, to bytes: inout [UInt8]) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}

/// Reads numbers in place, without copies: a query may read a million of them.
struct Base128Reader {
    private let bytes: UnsafeRawBufferPointer
    private var index = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// The next number; nil at the end, or if it is cut off or too long.
    mutating func next() -> UInt64? {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while index < bytes.count, shift < 63 {
            let byte = bytes[index]
            index += 1
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        return nil
    }

    /// The next bytes; nil if fewer are left.
    mutating func next(count: UInt64) -> UnsafeRawBufferPointer? {
        guard count <= UInt64(bytes.count - index) else { return nil }
        defer { index += Int(count) }
        return UnsafeRawBufferPointer(rebasing: bytes[index..<index + Int(count)])
    }
}
