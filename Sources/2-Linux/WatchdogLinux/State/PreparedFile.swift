// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A file under a temporary name until it is complete; it is removed unless it gets its own.
///
/// All steps happen in one open folder, wherever that is moved meanwhile, and whatever takes its place.
package final class PreparedFile {
    private let folder: OwnedDescriptor
    private let file: OwnedDescriptor
    /// Nil once the file has its own name.
    private var temporary: String?

    /// The descriptor of the file, as long as this exists.
    package var descriptor: Int32 { file.number }

    /// Creates the file; follows no link, and replaces nothing.
    ///
    /// - Parameter mode: less the umask.
    package init(_ temporary: String, in folder: OwnedDescriptor, mode: UInt32) throws(Errno) {
        let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        do throws(LinuxError) {
            file = OwnedDescriptor(taking: try check("create") { openat(folder.number, temporary, flags, mode) })
        } catch {
            throw error.errno
        }
        self.folder = folder
        self.temporary = temporary
    }

    deinit { if let temporary { unlinkat(folder.number, temporary, 0) } }

    /// Adds bytes to the file.
    package func append(_ bytes: [UInt8]) throws(Errno) { try writeAll(bytes, to: file.number) }

    /// Waits until the bytes are on disk: after a power failure, the file's own name could otherwise refer to an empty file.
    package func synchronize() throws(Errno) { guard fsync(file.number) == 0 else { throw .current } }

    /// Gives the file its own name, and replaces what has it.
    package func rename(to name: String) throws(Errno) {
        guard let temporary else { return }
        guard renameat(folder.number, temporary, folder.number, name) == 0 else { throw .current }
        self.temporary = nil
    }

    /// Gives the file its own name; unlike rename(2), link(2) replaces nothing.
    package func link(as name: String) throws(Errno) {
        guard let temporary else { return }
        guard linkat(folder.number, temporary, folder.number, name, 0) == 0 else { throw .current }
        unlinkat(folder.number, temporary, 0)
        self.temporary = nil
    }
}

extension Errno {
    /// Whether link(2) failed because there are no hard links here, as on FAT and some network file systems.
    package var isLackOfLinks: Bool { [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(rawValue) }
}

extension OwnedDescriptor {
    /// Waits until the names in this folder are on disk; without the right to read it, it cannot be synchronized.
    package func synchronizeNames() throws(Errno) {
        // It may be open as a path only: open(2), O_PATH.
        let readable = openat(number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard readable >= 0 else { return }
        defer { close(readable) }
        // EINVAL: not on this file system, fsync(2).
        guard fsync(readable) == 0 || errno == EINVAL || errno == EROFS else { throw .current }
    }
}

/// Writes all bytes to an open file.
package func writeAll(_ bytes: [UInt8], to descriptor: Int32) throws(Errno) {
    var offset = 0
    while offset < bytes.count {
        let count = bytes[offset...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw count < 0 ? .current : Errno(rawValue: EIO) }
        offset += count
    }
}
