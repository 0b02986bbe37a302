// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A buffer of received bytes that splits them into NUL-terminated messages; it never holds more than one message of
/// the maximum length.
struct MessageBuffer {
    /// The maximum length of a message, without its NUL.
    let limit: Int

    private var bytes: [UInt8] = []
    private var start = 0
    /// There is no NUL before this index.
    private var scanned = 0
    private var end: Int?

    init(limit: Int) {
        self.limit = limit
    }

    /// The number of bytes that can be appended.
    var room: Int { limit + 1 - (bytes.count - start) }

    /// Whether ``next()`` has a result.
    var hasMessage: Bool { end != nil || room == 0 }

    /// Appends bytes, at most ``room`` of them.
    mutating func append(_ new: some Collection<UInt8>) {
        precondition(new.count <= room, "the bytes do not fit into the buffer")
        if start > 0, bytes.count + new.count > bytes.capacity || start > bytes.count / 2 { compact() }
        bytes += new
        scan()
    }

    /// Removes and returns the next message, without its NUL; nil if it is incomplete.
    ///
    /// After a fault, the rest of the stream cannot be interpreted.
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
        // One long message must not keep its memory for the rest of a long connection.
        if bytes.isEmpty, bytes.capacity > 4096 { bytes = [] }
    }
}

/// The reason why bytes are not a valid message.
enum MessageFault: Error, Hashable, CustomStringConvertible {
    /// No NUL within the limit.
    case tooLong(limit: Int)
    /// No bytes between two NULs.
    case empty
    /// It is not a JSON object.
    case notAnObject
    /// Arrays and objects are nested beyond the limit.
    case tooDeep(limit: Int)
    /// It is not JSON, or has members of the wrong type.
    case notACall(String)

    var description: String {
        switch self {
        case .tooLong(let limit): "a message may have at most \(limit) bytes"
        case .empty: "a message is empty"
        case .notAnObject: "a message is not a JSON object"
        case .tooDeep(let limit): "a message nests arrays and objects more than \(limit) deep"
        case .notACall(let reason): "a message is not a call: \(reason)"
        }
    }
}
