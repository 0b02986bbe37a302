// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogConfiguration
import WatchdogLinux

extension OutputTarget {
    /// Opens a file, or `/dev/null`, for a program's output; nil for what is no file.
    ///
    /// As systemd does: with the rights of watchdogd, created if it is not there. It never waits for a reader of a FIFO.
    ///
    /// - Parameter mask: takes rights from a file that is created.
    func open(fileModeMask mask: UInt32) throws(LinuxError) -> OwnedDescriptor? {
        switch self {
        case .journal, .inherit: nil
        case .null: try OwnedDescriptor(opening: "/dev/null", flags: O_WRONLY | O_NOCTTY)
        case .file(let path): try Self.open(path, 0, mask)
        case .append(let path): try Self.open(path, O_APPEND, mask)
        case .truncate(let path): try Self.open(path, O_TRUNC, mask)
        }
    }

    private static func open(_ path: String, _ flags: Int32, _ mask: UInt32) throws(LinuxError) -> OwnedDescriptor {
        let all = O_WRONLY | O_CREAT | O_NOCTTY | O_NONBLOCK | flags
        let mode = 0o666 & ~mask
        let file: OwnedDescriptor
        do throws(LinuxError) {
            file = try OwnedDescriptor(opening: path, flags: all | O_NOFOLLOW, mode: mode)
        } catch {
            switch error.errno {
            case .tooManyLinks where isTrustedLink(path):
                file = try OwnedDescriptor(opening: path, flags: all, mode: mode)
            case .tooManyLinks:
                throw LinuxError("open \(path), a link that others than root can change", error.errno)
            case .noSuchDevice:
                throw LinuxError("open \(path), from which nobody reads", error.errno)
            default:
                throw error
            }
        }
        // Programs expect to block where there is no room.
        _ = fcntl(file.number, F_SETFL, flags & O_APPEND)
        return file
    }

    /// Whether a link is root's or ours, and nobody else can put another one in its place: the user of an app must not
    /// be able to send what root writes to a file of his choice.
    private static func isTrustedLink(_ path: String) -> Bool {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        var link = stat()
        var directory = stat()
        guard lstat(path, &link) == 0, stat(folder, &directory) == 0 else { return false }
        let trusted = [0, geteuid()]
        let othersMayWrite = directory.st_mode & (S_IWGRP | S_IWOTH) != 0 && directory.st_mode & S_ISVTX == 0
        return trusted.contains(link.st_uid) && trusted.contains(directory.st_uid) && !othersMayWrite
    }
}
