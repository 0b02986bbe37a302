// SPDX-License-Identifier: Apache-2.0

/// Bytes waiting to be sent.
struct OutputBuffer {
    private var bytes: [UInt8] = []
    private var start = 0

    /// The number of waiting bytes.
    var count: Int { bytes.count - start }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ new: some Collection<UInt8>) {
        bytes += new
    }

    mutating func removeAll() {
        bytes = []
        start = 0
    }

    /// Removes and returns all bytes.
    mutating func takeAll() -> [UInt8] {
        defer { removeAll() }
        return start == 0 ? bytes : Array(bytes[start...])
    }

    /// Passes the bytes to `send`, which returns how many it accepted.
    mutating func send(_ send: (UnsafeRawBufferPointer) -> Int) {
        start += bytes.withUnsafeBytes { send(UnsafeRawBufferPointer(rebasing: $0[start...])) }
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: bytes.capacity <= 16 << 10)
            start = 0
        } else if start > bytes.count / 2 {
            bytes.removeFirst(start)
            start = 0
        }
    }
}
