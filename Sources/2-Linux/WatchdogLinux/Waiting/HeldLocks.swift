// SPDX-License-Identifier: Apache-2.0

import Glibc
public import WatchdogBase

/// The file locks that processes hold: flock(2), and both kinds of fcntl(2).
public enum HeldLocks {
    /// The maximum number of locked files that are reported.
    public static let limit = 32

    /// Finds the locks of processes; if there are none, this reads only a few small files in `/proc`.
    ///
    /// Bounded: of a process with very many open files, it checks as many as it can in a tenth of a second.
    public static func find(in processes: [Int32]) -> [LockedFile] {
        guard !processes.isEmpty else { return [] }
        let table = try? OwnedDescriptor(opening: "/proc/locks", flags: O_RDONLY)
        guard table.map({ mayHoldLocks(Set(processes), in: $0) }) ?? true else { return [] }
        let budget = WorkBudget(.milliseconds(100))
        var found: [LockedFile] = []
        var seen: Set<String> = []
        for process in processes.prefix(4096) {
            let files = lockedFiles(of: process, budget)
            let paths = Set(files.map(\.path))
            for file in files {
                guard !budget.isSpent, found.count < limit else { return found }
                guard counts(file.lock, path: file.path, open: paths, process: process) else { continue }
                let kind = kind(of: file.lock, path: file.path)
                guard seen.insert("\(file.path)\0\(kind)").inserted else { continue }
                found.append(
                    LockedFile(
                        path: database(file.path, kind), kind: kind, isExclusive: file.lock.isExclusive,
                        process: process))
            }
        }
        return found
    }

    private static let kinds: Set<String> = ["FLOCK", "POSIX", "OFDLCK"]

    /// A lock may have been taken by a process that has exited; whoever inherited the open file then holds it.
    ///
    /// - Parameter limit: how many bytes of the table to read; what follows may be locks of the processes.
    static func mayHoldLocks(_ processes: Set<Int32>, in table: OwnedDescriptor, limit: Int = 1 << 20) -> Bool {
        var isPossible = false
        var previous: Int32?
        let isWhole = Procfs.forEachLine(table, limit: limit) { line in
            // Only what is needed of a line is parsed: there may be ten thousand.
            guard !LockWait.isWait(line), let kind = FileLock.field(1, of: line),
                let owner = FileLock.field(4, of: line), kinds.contains(where: { kind.elementsEqual($0.utf8) })
            else { return true }
            let process = Int32(decimal: owner).flatMap { $0 > 0 ? $0 : nil }
            guard process == nil || process != previous else { return true }
            previous = process
            isPossible =
                process.map { processes.contains($0) || (kill($0, 0) != 0 && Errno.current == .noSuchProcess) }
                ?? true
            return !isPossible
        }
        return isPossible || !isWhole
    }

    private static func lockedFiles(of process: Int32, _ budget: WorkBudget) -> [(path: String, lock: FileLock)] {
        guard let directory = opendir("/proc/\(process)/fdinfo") else { return [] }
        defer { closedir(directory) }
        var files: [(path: String, lock: FileLock)] = []
        while let entry = readdir(directory), !budget.isSpent {
            let number = withUnsafeBytes(of: &entry.pointee.d_name) { Int32(decimal: $0.prefix { $0 != 0 }) }
            guard let number, let text = Procfs.read("/proc/\(process)/fdinfo/\(number)", limit: 16 << 10) else {
                continue
            }
            let locks = DescriptorInfo(parsing: text).locks.filter { !$0.isWaiting && kinds.contains($0.kind) }
            guard let first = locks.first else { continue }
            let path = SymbolicLink.target("/proc/\(process)/fd/\(number)") ?? "inode \(first.inode)"
            files += locks.map { (path, $0) }
        }
        return files
    }

    // MARK: - SQLite

    /// From `PENDING_BYTE` to the end of the shared range: SQLite's os.h.
    private static let database: ClosedRange<UInt64> = 0x4000_0000...0x4000_01ff
    /// `UNIX_SHM_BASE` and the locks after it: SQLite's os_unix.c.
    private static let writeAheadIndex: ClosedRange<UInt64> = 120...128
    private static let indexSuffix = "-shm"

    private static func isSQLite(_ lock: FileLock, path: String) -> Bool {
        guard lock.kind != "FLOCK", !lock.isOnWholeFile else { return false }
        return path.hasSuffix(indexSuffix) ? writeAheadIndex.contains(lock.start) : database.contains(lock.start)
    }

    private static func kind(of lock: FileLock, path: String) -> LockedFile.Kind {
        if isSQLite(lock, path: path) { return .sqlite }
        return switch lock.kind {
        case "FLOCK": .flock
        case "OFDLCK": .openFile
        default: .process
        }
    }

    /// With a write-ahead log, a connection holds shared locks as long as it is open; nobody waits for those.
    private static func counts(_ lock: FileLock, path: String, open paths: Set<String>, process: Int32) -> Bool {
        guard isSQLite(lock, path: path), !lock.isExclusive else { return true }
        return !path.hasSuffix(indexSuffix) && !paths.contains(path + indexSuffix)
    }

    /// The database that an index of a write-ahead log belongs to.
    private static func database(_ path: String, _ kind: LockedFile.Kind) -> String {
        kind == .sqlite && path.hasSuffix(indexSuffix) ? String(path.dropLast(indexSuffix.count)) : path
    }
}
