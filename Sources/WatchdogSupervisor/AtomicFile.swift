// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux

/// Files that are there whole or not at all.
enum AtomicFile {
    /// Replaces a file: written under a temporary name beside it, synced, renamed.
    ///
    /// A path that is no regular file (a pipe, `/dev/stderr`) is written to as it is.
    static func write(_ bytes: [UInt8], to path: String) throws(LinuxError) {
        guard isReplaceable(path) else {
            let file = try OwnedDescriptor(opening: path, flags: O_WRONLY)
            try writeAll(bytes, to: file, path)
            return
        }
        let temporary = "\(path).\(getpid()).tmp"
        do throws(LinuxError) {
            let file = try OwnedDescriptor(
                opening: temporary, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o640)
            try writeAll(bytes, to: file, temporary)
            guard fsync(file.number) == 0, rename(temporary, path) == 0 else {
                throw LinuxError("write \(path)", Errno(rawValue: errno))
            }
        } catch {
            unlink(temporary)
            throw error
        }
    }

    /// Finds out early whether ``write(_:to:)`` can work.
    static func check(_ path: String) throws(LinuxError) {
        guard isReplaceable(path) else {
            _ = try OwnedDescriptor(opening: path, flags: O_WRONLY | O_NONBLOCK)
            return
        }
        let temporary = "\(path).\(getpid()).tmp"
        _ = try OwnedDescriptor(opening: temporary, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o640)
        unlink(temporary)
    }

    private static func isReplaceable(_ path: String) -> Bool {
        var information = stat()
        guard lstat(path, &information) == 0 else { return true }
        return information.st_mode & S_IFMT == S_IFREG
    }

    private static func writeAll(_ bytes: [UInt8], to file: OwnedDescriptor, _ path: String) throws(LinuxError) {
        var offset = 0
        while offset < bytes.count {
            let written = bytes[offset...].withUnsafeBytes { Glibc.write(file.number, $0.baseAddress, $0.count) }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw LinuxError("write \(path)", Errno(rawValue: errno)) }
            offset += written
        }
    }
}
