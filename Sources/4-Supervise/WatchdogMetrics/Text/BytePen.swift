// SPDX-License-Identifier: Apache-2.0

/// Writes bytes one after the other, into a page that is added to the text whenever it is full.
///
/// An array checks on each write whether it is shared and has room; a page, only when room is asked for.
struct BytePen: ~Copyable {
    /// The maximum number of characters of an `Int`, including the sign.
    static let mostDigits = 20
    /// Larger than what ``reserve(_:)`` is usually asked for, and small enough for the CPU's caches.
    private static let size = 64 << 10

    private var text: [UInt8] = []
    private var page = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: Self.size)
    private var count = 0

    /// - Parameter capacity: the expected number of bytes.
    init(capacity: Int = 0) {
        text.reserveCapacity(capacity)
    }

    deinit { page.deallocate() }

    /// Makes room for this many bytes, which must precede writing them.
    mutating func reserve(_ room: Int) {
        guard room > page.count - count else { return }
        flush()
        guard room > page.count else { return }
        page.deallocate()
        page = .allocate(capacity: room)
    }

    /// Everything that was written.
    consuming func finish() -> [UInt8] {
        flush()
        return text
    }

    private mutating func flush() {
        text += page[..<count]
        count = 0
    }

    // MARK: - Writing

    /// Writes a part of some bytes.
    mutating func write(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int, to end: Int) {
        precondition(start >= 0 && start <= end && end <= bytes.count, "the part is within the bytes")
        precondition(end - start <= page.count - count, "there is room")
        guard let source = bytes.baseAddress, let target = page.baseAddress else { return }
        (target + count).initialize(from: source + start, count: end - start)
        count += end - start
    }

    mutating func write(_ bytes: [UInt8]) {
        bytes.withUnsafeBufferPointer { write($0, from: 0, to: $0.count) }
    }

    mutating func write(_ byte: UInt8) {
        precondition(count < page.count, "there is room")
        page.initializeElement(at: count, to: byte)
        count += 1
    }

    /// Replaces a byte that was written since room was last made.
    ///
    /// - Parameter distance: from the end; 1 is the last byte.
    mutating func replace(at distance: Int, by byte: UInt8) {
        precondition(distance > 0 && distance <= count, "the byte is on this page")
        page[count - distance] = byte
    }

    /// Writes a number in decimal.
    mutating func write(_ value: Int) {
        if value < 0 { write(UInt8(ascii: "-")) }
        write(magnitude: value.magnitude, width: 1)
    }

    /// Writes a number in decimal, with zeros before it if it has fewer digits.
    mutating func write(magnitude value: UInt, width: Int) {
        var power: UInt = 1
        var digits = 1
        while digits < width || value / power >= 10 {
            power *= 10
            digits += 1
        }
        while power > 0 {
            write(UInt8(ascii: "0") + UInt8(value / power % 10))
            power /= 10
        }
    }
}
