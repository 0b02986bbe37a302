// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Where a symbolic link points: readlink(2).
enum SymbolicLink {
    static func target(_ path: String) -> String? {
        let text = [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, count in
            count = buffer.withMemoryRebound(to: CChar.self) { text in
                text.baseAddress.map { max(0, readlink(path, $0, text.count)) } ?? 0
            }
        }
        guard !text.isEmpty, text.count < Int(PATH_MAX) else { return nil }
        return String(decoding: text, as: UTF8.self)
    }
}
