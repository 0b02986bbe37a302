// SPDX-License-Identifier: Apache-2.0

/// An open file of a process, from `/proc/PID/fdinfo/N`: proc_pid_fdinfo(5).
struct DescriptorInfo: Hashable {
    /// The two bits of the access mode, as in `O_ACCMODE`.
    var accessMode: Int32?
    /// Available since Linux 5.14.
    var inode: UInt64?
    /// A file that an epoll instance watches.
    struct Watched: Hashable {
        /// Its descriptor when it was added.
        let number: Int32
        /// Nil if the kernel did not say.
        let inode: UInt64?
    }

    /// The first files that an epoll instance watches.
    var watched: [Watched] = []
    /// The number of watched descriptors in the text, which may be truncated.
    var watchedCount = 0
    /// The first locks that were taken through the descriptor, or on its file by the process.
    var locks: [FileLock] = []
    /// The process that a pidfd refers to.
    var process: Int32?

    init(parsing text: some Collection<UInt8>) {
        for line in text.split(separator: UInt8(ascii: "\n")) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
            let rest = line[line.index(after: colon)...].drop { $0 == UInt8(ascii: "\t") }
            let value = line[line.index(after: colon)...].split {
                $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t")
            }.first
            guard let value else { continue }
            switch String(decoding: line[..<colon], as: UTF8.self) {
            case "flags":
                accessMode = Int32(String(decoding: value, as: UTF8.self).suffix(1), radix: 8).map { $0 & 3 }
            case "ino": inode = UInt64(decimal: value)
            case "Pid": process = Int32(decimal: value)
            case "lock": if locks.count < 8, let lock = FileLock(parsing: Array(rest)) { locks.append(lock) }
            case "tfd":
                guard let number = Int32(decimal: value) else { continue }
                watchedCount += 1
                if watched.count < 4 { watched.append(Watched(number: number, inode: Self.inode(in: rest))) }
            default: continue
            }
        }
    }

    /// The hexadecimal number of ` ino:1f`: ep_show_fdinfo(), fs/eventpoll.c.
    private static func inode(in rest: some Collection<UInt8>) -> UInt64? {
        let fields = rest.split(separator: UInt8(ascii: " "))
        guard let field = fields.first(where: { $0.starts(with: "ino:".utf8) }) else { return nil }
        return UInt64(String(decoding: field.dropFirst(4), as: UTF8.self), radix: 16)
    }
}
