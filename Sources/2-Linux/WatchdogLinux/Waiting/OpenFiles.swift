// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase

/// Which processes have a socket, a pipe or the end of a FUSE connection open, among all that may be read.
///
/// Searching `/proc/PID/fd` of all processes takes tens of milliseconds where there are many, so all is read once, when it is
/// first needed. Apps that hang together wait for the same servers: an examiner keeps what it has read for a moment.
///
/// Isolation: belongs to one thread.
final class OpenFiles {
    /// What can connect two processes.
    enum File: Hashable {
        case socket(UInt64)
        case pipe(UInt64)
        /// `/dev/fuse`, through which a file server gets its requests.
        case fileServer
    }

    /// One of the places where a file is open.
    struct Holder: Hashable {
        let process: Int32
        let descriptor: Int32
    }

    /// How many holders of a file are kept: forked processes share all of theirs.
    private static let most = 16

    /// What was read at one moment.
    struct Table: Sendable {
        /// How long it may serve other looks.
        static let lifetime = Duration.milliseconds(200)

        fileprivate let holders: [File: [Holder]]
        /// When the reading began.
        fileprivate(set) var began: Instant

        /// Whether it may serve another look.
        func isFresh(at now: Instant) -> Bool { now >= began && now - began < Self.lifetime }
    }

    /// What is known; nil until something is needed.
    private(set) var table: Table?
    /// Whether the table is of an earlier look, and what it lacks may be there now.
    private var isInherited = false

    /// Begins with what an earlier look has read, if that was a moment ago.
    init(_ table: Table? = nil, at now: Instant = .now()) {
        guard let table, table.isFresh(at: now) else { return }
        self.table = table
        isInherited = true
    }

    /// Those who have a file open, by process ID; each process counts once.
    func holders(of file: File, _ budget: WorkBudget) -> [Holder] {
        if table == nil || isInherited && table?.holders[file] == nil { read(budget) }
        return table?.holders[file] ?? []
    }

    /// Reads what is open, unless that is known.
    func prepare(_ budget: WorkBudget) { if table == nil { read(budget) } }

    private func read(_ budget: WorkBudget) {
        let began = Instant.now()
        table = Table(holders: budget.useReserve { Self.read(Procfs.processes(), $0) }, began: began)
        isInherited = false
    }

    private static func read(_ processes: [Int32], _ left: WorkBudget) -> [File: [Holder]] {
        var all: [File: [Holder]] = [:]
        for process in processes {
            guard !left.isSpent else { break }
            guard let directory = opendir("/proc/\(process)/fd") else { continue }
            defer { closedir(directory) }
            var count = 0
            while let entry = readdir(directory) {
                count += 1
                // Asking takes longer than reading a link.
                if count.isMultiple(of: 64), left.isSpent { break }
                let found = withUnsafePointer(to: &entry.pointee.d_name) { name in
                    name.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: name.pointee)) {
                        read($0, in: dirfd(directory))
                    }
                }
                guard let (file, descriptor) = found else { continue }
                let known = all[file, default: []]
                guard known.count < most, known.last?.process != process else { continue }
                all[file, default: []].append(Holder(process: process, descriptor: descriptor))
            }
        }
        return all
    }

    private static func read(_ name: UnsafePointer<CChar>, in directory: Int32) -> (File, Int32)? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 64) { buffer in
            let length = buffer.withMemoryRebound(to: CChar.self) { text in
                text.baseAddress.map { readlinkat(directory, name, $0, text.count) } ?? -1
            }
            guard length > 0, let file = File(buffer.prefix(length)), let number = Int32(String(cString: name)) else {
                return nil
            }
            return (file, number)
        }
    }
}

extension OpenFiles.File {
    /// The file that a link in `/proc/PID/fd` leads to; nil if it connects nobody.
    init?(_ link: some BidirectionalCollection<UInt8>) {
        func inode(_ prefix: StaticString) -> UInt64? {
            let name = UnsafeBufferPointer(start: prefix.utf8Start, count: prefix.utf8CodeUnitCount)
            guard link.starts(with: name), link.last == UInt8(ascii: "]") else { return nil }
            return UInt64(decimal: link.dropFirst(name.count).dropLast())
        }
        if let inode = inode("socket:[") {
            self = .socket(inode)
        } else if let inode = inode("pipe:[") {
            self = .pipe(inode)
        } else if link.elementsEqual("/dev/fuse".utf8) {
            self = .fileServer
        } else {
            return nil
        }
    }
}
