// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Writes to descriptors without stdio, whose streams are shared mutable state to Swift.
enum Descriptor {
    /// Writes all bytes; returns false on failure.
    static func write(_ bytes: some Sequence<UInt8>, to descriptor: Int32) -> Bool {
        Array(bytes).withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }
    }
}
