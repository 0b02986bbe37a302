// SPDX-License-Identifier: Apache-2.0

/// Bytes with bounds-checked reads.
struct ByteWindow {
    private let bytes: [UInt8]
    private let range: Range<Int>

    init(_ bytes: [UInt8], _ range: Range<Int>? = nil) {
        self.bytes = bytes
        self.range = (range ?? 0..<bytes.count).clamped(to: 0..<bytes.count)
    }

    var count: Int { range.count }

    /// A little-endian integer; nil beyond the end.
    func integer<Number: FixedWidthInteger>(at offset: Int, as _: Number.Type = Number.self) -> Number? {
        let size = MemoryLayout<Number>.size
        guard offset >= 0, offset <= count - size else { return nil }
        return bytes.withUnsafeBytes { buffer in
            Number(littleEndian: buffer.loadUnaligned(fromByteOffset: range.lowerBound + offset, as: Number.self))
        }
    }

    /// Text up to a NUL, the limit or the end; nil if it begins beyond the end.
    func text(at offset: Int, limit: Int = .max) -> String? {
        guard offset >= 0, offset <= count else { return nil }
        let begin = range.lowerBound + offset
        let part = bytes[begin..<min(range.upperBound, begin + min(limit, count))]
        return String(decoding: part.prefix { $0 != 0 }, as: UTF8.self)
    }

    func dropFirst(_ length: Int) -> ByteWindow {
        ByteWindow(bytes, min(range.lowerBound + max(length, 0), range.upperBound)..<range.upperBound)
    }

    func prefix(_ length: Int) -> ByteWindow {
        ByteWindow(bytes, range.lowerBound..<min(range.upperBound, range.lowerBound + max(length, 0)))
    }
}
