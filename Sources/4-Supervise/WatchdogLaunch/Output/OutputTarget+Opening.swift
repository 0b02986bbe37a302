// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogConfiguration
package import WatchdogLinux

extension OutputTarget {
    /// Whether it is opened without any file system but the kernel's own.
    var isAlwaysThere: Bool {
        switch self {
        case .journal, .null: true
        // Otherwise our own output is examined, whatever it is.
        case .inherit: Environment.inherited["JOURNAL_STREAM"] == nil
        case .file, .append, .truncate: false
        }
    }

    /// Opens a file or `/dev/null` for a program's output; nil for other targets.
    ///
    /// As in systemd, the file is opened with watchdogd's privileges and created if it does not exist; no link that the
    /// app's user could have made is followed. It never waits for a reader of a FIFO.
    ///
    /// - Parameter mask: removes permissions from a file that is created.
    package func open(fileModeMask mask: UInt32) throws(LinuxError) -> OwnedDescriptor? {
        switch self {
        case .journal, .inherit: nil
        case .null: try OwnedDescriptor(opening: "/dev/null", flags: O_WRONLY | O_NOCTTY)
        case .file(let path): try Self.open(path, 0, mask)
        case .append(let path): try Self.open(path, O_APPEND, mask)
        case .truncate(let path): try Self.open(path, O_TRUNC, mask)
        }
    }

    private static func open(_ path: String, _ flags: Int32, _ mask: UInt32) throws(LinuxError) -> OwnedDescriptor {
        let file: OwnedDescriptor
        do throws(LinuxError) {
            file = try GuardedPath(path).open(
                flags: O_WRONLY | O_CREAT | O_NOCTTY | O_NONBLOCK | flags, mode: 0o666 & ~mask, isForeign: true)
        } catch {
            guard error.errno == .noSuchDevice else { throw error }
            throw LinuxError("open \(path), from which nobody reads", error.errno)
        }
        // Programs expect writes to block.
        _ = fcntl(file.number, F_SETFL, flags & O_APPEND)
        return file
    }
}
