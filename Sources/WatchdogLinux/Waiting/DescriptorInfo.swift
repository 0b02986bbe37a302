// SPDX-License-Identifier: Apache-2.0

/// An open file of a process, from `/proc/PID/fdinfo/N`: proc_pid_fdinfo(5).
struct DescriptorInfo: Hashable {
    /// The open mode's two bits, as in `O_ACCMODE`.
    var accessMode: Int32?
    /// Linux 5.14 and later.
    var inode: UInt64?
    /// Descriptors that an epoll instance watches, the first ones.
    var watched: [Int32] = []
    /// How many there are, as far as the text goes.
    var watchedCount = 0
    /// Locks that were taken through it, or by the process on its file; the first ones.
    var locks: [FileLock] = []
    /// The process of a pidfd.
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
                if watched.count < 4 { watched.append(number) }
            default: continue
            }
        }
    }
}
