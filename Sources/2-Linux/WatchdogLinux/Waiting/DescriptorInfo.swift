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
        /// The events for which it is watched: epoll_ctl(2).
        let events: UInt32
    }

    /// How many files of an epoll instance, or of a call that waits for several, are described.
    static let described = 8
    /// Among how many files of an epoll instance those to describe are chosen.
    private static let listed = 64

    /// The first files that an epoll instance watches.
    var watched: [Watched] = []
    /// The number of watched descriptors in the text, which may be truncated.
    var watchedCount = 0
    /// The first locks that were taken through the descriptor, or on its file by the process.
    var locks: [FileLock] = []
    /// The process that a pidfd refers to.
    var process: Int32?
    /// The ID of the mount that it was opened on: the first field of `/proc/PID/mountinfo`.
    var mount: UInt32?
    /// The number of the FUSE connection of a file server; since Linux 6.16.
    var fileServer: UInt32?
    /// The number of the terminal whose other side this is: 3 for `/dev/pts/3`.
    var terminal: UInt32?
    /// What an io_uring says of itself; nil for another file.
    var ring: Ring?
    /// The signals that a signalfd receives: bit 0 for signal 1.
    var signals: UInt64?

    /// The requests of an io_uring: io_uring_show_fdinfo(), io_uring/fdinfo.c.
    struct Ring: Hashable {
        /// The number of places for requests.
        var size: UInt32 = 0
        /// How many requests the kernel has taken so far.
        var taken: UInt32 = 0
        /// The operations of those that wait for a file to become ready, the first ones.
        var operations: [UInt8] = []
    }

    init(parsing text: some Collection<UInt8>) {
        for line in text.split(separator: UInt8(ascii: "\n")) {
            if line.starts(with: "  op=".utf8), ring != nil {
                let operation = UInt8(decimal: line.dropFirst(5).prefix { $0 != UInt8(ascii: ",") })
                if let operation, (ring?.operations.count ?? 0) < 64 { ring?.operations.append(operation) }
                continue
            }
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
            case "mnt_id": mount = UInt32(decimal: value)
            case "SqMask": ring = UInt32(Self.field("0x", in: value), radix: 16).map { Ring(size: $0 &+ 1) }
            case "CachedSqHead": ring?.taken = UInt32(decimal: value) ?? 0
            case "sigmask": signals = UInt64(String(decoding: value, as: UTF8.self), radix: 16)
            case "Pid": process = Int32(decimal: value)
            case "tty-index": terminal = UInt32(decimal: value)
            case "fuse_connection": fileServer = UInt32(decimal: value)
            case "lock": if locks.count < 8, let lock = FileLock(parsing: Array(rest)) { locks.append(lock) }
            case "tfd":
                guard let number = Int32(decimal: value) else { continue }
                watchedCount += 1
                guard watched.count < Self.listed else { continue }
                watched.append(
                    Watched(
                        number: number, inode: UInt64(Self.field("ino:", in: rest), radix: 16),
                        events: UInt32(Self.field("events:", in: rest), radix: 16) ?? 0))
            default: continue
            }
        }
    }

    /// `1f` of ` ino:1f` or of ` events:       1f`, empty without it: ep_show_fdinfo(), fs/eventpoll.c.
    private static func field(_ name: String, in rest: some Collection<UInt8>) -> String {
        let fields = rest.split(separator: UInt8(ascii: " "))
        guard let index = fields.firstIndex(where: { $0.starts(with: name.utf8) }) else { return "" }
        let value = fields[index].dropFirst(name.utf8.count)
        // The kernel pads some of the numbers, so that they are words of their own.
        let isApart = value.isEmpty && fields.index(after: index) < fields.endIndex
        return String(decoding: isApart ? fields[fields.index(after: index)] : value, as: UTF8.self)
    }
}
