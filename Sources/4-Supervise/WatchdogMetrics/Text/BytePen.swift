// SPDX-License-Identifier: Apache-2.0

/// Writes bytes into a buffer of the caller, which guarantees its size.
struct BytePen {
    /// The maximum number of characters of an `Int`, including the sign.
    static let mostDigits = 20

    private let page: UnsafeMutableBufferPointer<UInt8>
    /// The number of written bytes.
    private(set) var count = 0

    init(_ page: UnsafeMutableBufferPointer<UInt8>) {
        self.page = page
    }

    mutating func write(_ bytes: UnsafeBufferPointer<UInt8>) {
        precondition(bytes.count <= page.count - count, "the page is full")
        guard let source = bytes.baseAddress, let start = page.baseAddress else { return }
        (start + count).initialize(from: source, count: bytes.count)
        count += bytes.count
    }

    mutating func write(_ byte: UInt8) {
        precondition(count < page.count, "the page is full")
        page.initializeElement(at: count, to: byte)
        count += 1
    }

    /// Writes a number in decimal.
    mutating func write(_ value: Int) {
        guard !(0..<10).contains(value) else { return write(UInt8(ascii: "0") + UInt8(value)) }
        for byte in String(value).utf8 { write(byte) }
    }
}
