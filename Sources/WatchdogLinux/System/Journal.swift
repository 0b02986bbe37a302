// SPDX-License-Identifier: Apache-2.0

import CSystemd
import Glibc

/// The system's journal: sd_journal_send(3).
public enum Journal {
    /// One field of an entry.
    public struct Field: Hashable, Sendable {
        /// The field's name: capital letters, digits and underscores, such as `MESSAGE`.
        public let name: String
        /// Its value, of any length and with any bytes.
        public let value: [UInt8]

        /// Creates a field with a text.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = Array(value.utf8)
        }
    }

    /// Writes an entry; does nothing on a system without journald.
    ///
    /// Waits when journald does not keep up: not for the loop's thread.
    public static func send(_ fields: [Field]) throws(LinuxError) {
        // Each `NAME=value`, one after the other in one buffer.
        var bytes: [UInt8] = []
        var ends: [Int] = []
        for field in fields {
            bytes += field.name.utf8
            bytes.append(UInt8(ascii: "="))
            bytes += field.value
            ends.append(bytes.count)
        }
        let result = bytes.withUnsafeMutableBytes { buffer in
            var start = 0
            let vectors = ends.map { end in
                defer { start = end }
                return iovec(iov_base: buffer.baseAddress.map { $0 + start }, iov_len: end - start)
            }
            return sd_journal_sendv(vectors, Int32(vectors.count))
        }
        try checkEvent("write to the journal", result)
    }
}
