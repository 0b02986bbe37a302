// SPDX-License-Identifier: Apache-2.0

import Glibc

/// This process's user namespace: user_namespaces(7).
enum UserNamespace {
    /// Whether both IDs are mapped here; a container of an unprivileged user often has only one of each.
    static func knows(user: UInt32, group: UInt32) -> Bool {
        maps("/proc/self/uid_map", user) && maps("/proc/self/gid_map", group)
    }

    private static func maps(_ path: String, _ id: UInt32) -> Bool {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return true }
        defer { close(file) }
        let text = [UInt8](unsafeUninitializedCapacity: 16 << 10) { buffer, count in
            count = max(0, read(file, buffer.baseAddress, buffer.count))
        }
        return text.split(separator: UInt8(ascii: "\n")).contains { line in
            let words = line.split(separator: UInt8(ascii: " ")).map { UInt64(String(decoding: $0, as: UTF8.self)) }
            guard words.count == 3, let first = words[0], let count = words[2] else { return false }
            return id >= first && UInt64(id) - first < count
        }
    }
}
