// SPDX-License-Identifier: Apache-2.0

/// A FIFO queue of bytes.
struct ByteQueue {
    private var bytes: [UInt8] = []
    private var first = 0

    var count: Int { bytes.count - first }

    mutating func append(_ slice: some Sequence<UInt8>) {
        bytes.append(contentsOf: slice)
    }

    /// Passes the first `limit` bytes to `body`, and removes as many as it returns.
    mutating func consume(upTo limit: Int, _ body: (UnsafeRawBufferPointer) -> Int) -> Int {
        let used = bytes.withUnsafeBytes {
            body(UnsafeRawBufferPointer(rebasing: $0[first..<first + min(limit, count)]))
        }
        first += max(0, used)
        if first == bytes.count {
            bytes.removeAll(keepingCapacity: true)
            first = 0
        } else if first > 1 << 16 {
            bytes.removeFirst(first)
            first = 0
        }
        return used
    }
}
