// SPDX-License-Identifier: Apache-2.0

/// The search for the lock that a process waits for, line by line in `/proc/locks`: proc_locks(5).
///
/// The waits for a lock are listed right after it (locks_show(), fs/locks.c), so only waits are parsed, and the locks
/// before those of the process: the table of a database server has ten thousand lines.
struct LockWait {
    private let process: Int32
    private let kinds: Set<String>
    private let inode: UInt64?
    private var latest: ArraySlice<UInt8> = []
    private var found: FileLock?
    private var isAmbiguous = false

    /// - Parameter inode: the inode of the file; nil if unknown, in which case a process with several waits has no
    ///   ``holder``.
    init(of process: Int32, kinds: Set<String>, inode: UInt64?) {
        self.process = process
        self.kinds = kinds
        self.inode = inode
    }

    /// The lock that the process waits for; nil if there is none, or it may be one of several.
    var holder: FileLock? { isAmbiguous ? nil : found }

    /// Reads the next line.
    mutating func read(_ line: ArraySlice<UInt8>) {
        guard Self.isWait(line) else {
            latest = line
            return
        }
        guard let wait = FileLock(parsing: line), kinds.contains(wait.kind), inode == nil || wait.inode == inode,
            // A wait for an OFD lock shows no process.
            wait.process == process || wait.kind == "OFDLCK" && inode != nil
        else { return }
        let lock = FileLock(parsing: latest).flatMap {
            !$0.isWaiting && $0.number == wait.number && $0.inode == wait.inode ? $0 : nil
        }
        if let lock, found == nil || found == lock { found = lock } else { isAmbiguous = true }
    }

    /// Whether a line has the form `12: -> FLOCK …`.
    static func isWait(_ line: ArraySlice<UInt8>) -> Bool {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return false }
        return line[(colon + 1)...].first { $0 != UInt8(ascii: " ") } == UInt8(ascii: "-")
    }
}
