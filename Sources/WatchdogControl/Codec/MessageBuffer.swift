// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Bytes as they come, and the NUL-terminated messages in them; never holds more than one message of the greatest length.
struct MessageBuffer {
    /// The most bytes of a message, without its NUL.
    let limit: Int

    private var bytes: [UInt8] = []
    private var start = 0
    /// No NUL lies before this index.
    private var scanned = 0
    private var end: Int?

    init(limit: Int) {
        self.limit = limit
    }

    /// How many bytes can be taken in.
    var room: Int { limit + 1 - (bytes.count - start) }

    /// True when ``next()`` has something to say.
    var hasMessage: Bool { end != nil || room == 0 }

    /// Takes in bytes, at most ``room`` of them.
    mutating func append(_ new: some Collection<UInt8>) {
        precondition(new.count <= room, "the bytes do not fit into the buffer")
        if start > 0, bytes.count + new.count > bytes.capacity || start > bytes.count / 2 { compact() }
        bytes += new
        scan()
    }

    /// Takes out the next message, without its NUL; nil when it has not come whole.
    ///
    /// After a fault the stream cannot be understood any more.
    mutating func next() throws(MessageFault) -> [UInt8]? {
        guard let end else {
            if room == 0 { throw .tooLong(limit: limit) }
            return nil
        }
        let message = Array(bytes[start..<end])
        start = end + 1
        scanned = start
        self.end = nil
        if start == bytes.count { compact() }
        scan()
        if message.isEmpty { throw .empty }
        return message
    }

    private mutating func scan() {
        guard end == nil else { return }
        let from = scanned
        let found = bytes.withUnsafeBytes { buffer -> Int? in
            guard let base = buffer.baseAddress, from < buffer.count,
                let place = memchr(base + from, 0, buffer.count - from)
            else { return nil }
            return UnsafeRawPointer(place) - base
        }
        end = found
        scanned = found ?? bytes.count
    }

    private mutating func compact() {
        bytes.removeFirst(start)
        scanned -= start
        end = end.map { $0 - start }
        start = 0
        // A long message must not cost its memory for the rest of a long connection.
        if bytes.isEmpty, bytes.capacity > 4096 { bytes = [] }
    }
}
