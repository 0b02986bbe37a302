// SPDX-License-Identifier: Apache-2.0

/// A file lock, or a wait for one, as a line of `/proc/locks` shows it: proc_locks(5).
struct FileLock: Hashable {
    /// The number of the lock; a waiter has that of the lock that it waits for.
    let number: UInt64
    let isWaiting: Bool
    /// `FLOCK`, `POSIX`, `OFDLCK`, `LEASE`, ….
    let kind: String
    let isExclusive: Bool
    /// Whether it is a lease that its holder has been asked to give up: fcntl(2), F_SETLEASE.
    let isBreaking: Bool
    /// Nil for a lock that belongs to an open file description (`OFDLCK`), and for a process outside this pid
    /// namespace.
    let process: Int32?
    let inode: UInt64
    let isOnWholeFile: Bool
    /// The first locked byte.
    let start: UInt64

    init?(parsing line: some BidirectionalCollection<UInt8>) {
        var fields = line.split(separator: UInt8(ascii: " "), maxSplits: 16)
        guard fields.count >= 8, fields[0].last == UInt8(ascii: ":"), let number = UInt64(decimal: fields[0].dropLast())
        else { return nil }
        isWaiting = fields[1].elementsEqual("->".utf8)
        if isWaiting { fields.remove(at: 1) }
        guard fields.count >= 8 else { return nil }
        let file = fields[5].split(separator: UInt8(ascii: ":"))
        guard file.count == 3, let inode = UInt64(decimal: file[2]) else { return nil }
        self.number = number
        self.inode = inode
        isOnWholeFile = fields[6].elementsEqual("0".utf8) && fields[7].elementsEqual("EOF".utf8)
        start = UInt64(decimal: fields[6]) ?? 0
        kind = String(decoding: fields[1].prefix(16), as: UTF8.self)
        isBreaking = fields[2].elementsEqual("BREAKING".utf8)
        isExclusive = fields[3].elementsEqual("WRITE".utf8)
        process = Int32(decimal: fields[4]).flatMap { $0 > 0 ? $0 : nil }
    }

    /// One of the fields that spaces separate; nil if there are fewer.
    static func field(_ index: Int, of line: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let space = UInt8(ascii: " ")
        var rest = line.drop { $0 == space }
        for _ in 0..<index { rest = rest.drop { $0 != space }.drop { $0 == space } }
        let field = rest.prefix { $0 != space }
        return field.isEmpty ? nil : field
    }
}
