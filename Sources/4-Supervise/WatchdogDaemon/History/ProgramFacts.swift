// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogCapture
import WatchdogHistory
import WatchdogLinux

/// What the history keeps of a running program: its version, and what its launch has read from disks.
///
/// The program's file may lie on a file system that never answers, and the kernel may wait for the process: read it beside
/// the loop.
struct ProgramFacts: Sendable {
    /// What runs; nil if the process is gone.
    let version: ProgramVersion?
    /// What it has read from disks in bytes; nil if unknown.
    let bytesRead: Int?
    /// Its page faults that waited for a disk; nil if unknown.
    let majorFaults: Int?

    /// How long reading may take.
    static let limit = Duration.seconds(5)

    /// The folder in `/proc` of a process that is not reaped yet.
    ///
    /// It never shows another process, even if the id is used again. Opening it waits for nobody.
    static func folder(of pid: Int32) -> OwnedDescriptor? {
        try? OwnedDescriptor(opening: "/proc/\(pid)", flags: O_RDONLY | O_DIRECTORY)
    }

    /// Reads the facts, as far as the process still exists.
    ///
    /// - Parameter configuredVersion: the name that the app's configuration gives the version.
    static func read(_ folder: OwnedDescriptor, configuredVersion: String?) -> ProgramFacts {
        let lines = text("io", in: folder)?.split(separator: "\n") ?? []
        let read = lines.first { $0.hasPrefix("read_bytes: ") }.flatMap { Int($0.dropFirst(12)) }
        let stat = text("stat", in: folder).flatMap { ProcessStat(parsing: $0.utf8) }
        return ProgramFacts(
            version: version(folder)?.named(configuredVersion), bytesRead: read,
            majorFaults: stat.map { Int(clamping: $0.majorFaults) })
    }

    private static func version(_ folder: OwnedDescriptor) -> ProgramVersion? {
        guard let file = try? OwnedDescriptor(opening: "exe", in: folder, flags: O_RDONLY | O_NONBLOCK) else {
            return nil
        }
        let buildID = BuildID.read(descriptor: file.number) ?? ""
        var seen = stat()
        var opened = stat()
        // The path may be another file's: in another root, or after an upgrade.
        guard let path = SymbolicLink.target("exe", in: folder.number), stat(path, &seen) == 0,
            fstat(file.number, &opened) == 0,
            seen.st_ino == opened.st_ino, seen.st_dev == opened.st_dev
        else { return ProgramVersion(buildID: buildID) }
        return ProgramVersion(buildID: buildID, file: path)
    }

    private static func text(_ name: String, in folder: OwnedDescriptor) -> String? {
        guard let file = try? OwnedDescriptor(opening: name, in: folder, flags: O_RDONLY) else { return nil }
        let bytes = [UInt8](unsafeUninitializedCapacity: 4_096) { buffer, count in
            count = max(0, Glibc.read(file.number, buffer.baseAddress, buffer.count))
        }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }
}
