// SPDX-License-Identifier: Apache-2.0

/// Bytes that wait to be sent.
struct OutputBuffer {
    private var bytes: [UInt8] = []
    private var start = 0

    /// How many wait.
    var count: Int { bytes.count - start }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ new: some Collection<UInt8>) {
        bytes += new
    }

    mutating func removeAll() {
        bytes = []
        start = 0
    }

    /// Everything that waits, which is then gone.
    mutating func takeAll() -> [UInt8] {
        defer { removeAll() }
        return start == 0 ? bytes : Array(bytes[start...])
    }

    /// Gives the bytes to `send`, which says how many it has taken.
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
