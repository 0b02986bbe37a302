// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Reads symbolic links: readlinkat(2).
package enum SymbolicLink {
    /// The target of a link, which need not be UTF-8; nil if it cannot be read, is empty or does not fit.
    package static func target(_ path: String, in folder: Int32 = AT_FDCWD) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            guard let start = buffer.baseAddress else { return nil }
            let length = readlinkat(folder, path, start, buffer.count)
            guard length > 0, length < buffer.count else { return nil }
            return String(decoding: buffer.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }
}
