// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The open descriptors of another process: proc_pid_fd(5).
enum DescriptorTable {
    /// The inodes of its sockets; empty if the process is gone or may not be read.
    static func sockets(of pid: Int32) -> [UInt32] {
        guard let directory = opendir("/proc/\(pid)/fd") else { return [] }
        defer { closedir(directory) }
        var inodes: [UInt32] = []
        while let entry = readdir(directory) {
            let inode = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: name.pointee)) {
                    socket($0, in: dirfd(directory))
                }
            }
            if let inode { inodes.append(inode) }
        }
        return inodes
    }

    /// The inode of `socket:[INODE]`; nil for a link to anything else.
    private static func socket(_ name: UnsafePointer<CChar>, in directory: Int32) -> UInt32? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 64) { buffer in
            let length = buffer.withMemoryRebound(to: CChar.self) { text in
                text.baseAddress.map { readlinkat(directory, name, $0, text.count) } ?? -1
            }
            let prefix = "socket:[".utf8
            guard length > prefix.count, buffer.starts(with: prefix), buffer[length - 1] == UInt8(ascii: "]") else {
                return nil
            }
            return UInt32(decimal: buffer[prefix.count..<(length - 1)])
        }
    }
}
