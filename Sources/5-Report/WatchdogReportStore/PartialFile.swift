// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A file that replaces another, or appears, only when it is complete.
///
/// A file that is not regular (`/dev/stdout`, a pipe, a link), has several names, or cannot be replaced (a mount point,
/// a file in a read-only directory) is written in place. A read-only file stays unchanged.
final class PartialFile {
    private let path: String
    private let name: String
    private let folder: Int32
    /// Whether a file that is written in place may be a link.
    private let followsLinks: Bool
    /// Whether an existing file is replaced.
    private let replaces: Bool
    private var file: Int32 = -1
    /// The temporary name; nil for a file that is written in place.
    private var temporary: String?

    /// Opens the file; a new one is readable by its owner only, and a replacement keeps the old mode and owner.
    init(_ place: ExportPlace, replacing replaces: Bool = true) throws(ReportStoreError) {
        self.replaces = replaces
        path = place.path
        name = place.name
        followsLinks = place.folder == nil
        folder = try place.openFolder()
        var old = stat()
        let exists = fstatat(folder, name, &old, AT_SYMLINK_NOFOLLOW) == 0
        let isFile = old.st_mode & S_IFMT == S_IFREG || old.st_mode & S_IFMT == S_IFLNK
        if exists, isFile, !replaces { throw alreadyThere }
        let isPlain =
            old.st_mode & S_IFMT == S_IFREG && old.st_nlink == 1 && faccessat(folder, name, W_OK, 0) == 0
        if !exists || isPlain {
            let hidden = Self.temporaryName(name)
            file = openat(folder, hidden, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            if file >= 0 {
                temporary = hidden
                guard exists else { return }
                // Replace only a file of our own whose group can be kept; another user's file, which may be planted, is
                // written in place.
                if old.st_uid == geteuid(), fchown(file, uid_t.max, old.st_gid) == 0 {
                    _ = fchmod(file, old.st_mode & 0o777)
                    return
                }
                discard()
            } else if !exists {
                throw ReportStoreError("create", path, errno: errno)
            }
        }
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | (followsLinks ? 0 : O_NOFOLLOW)
        file = openat(folder, name, flags, 0o600)
        guard file >= 0 else { throw ReportStoreError("create", path, errno: errno) }
    }

    deinit {
        discard()
        close(folder)
    }

    private var alreadyThere: ReportStoreError {
        ReportStoreError(
            .failed, "create", path, reason: "there is such a file", errno: EEXIST,
            suggestion: "choose another name, or use --force")
    }

    func append(_ text: String) throws(ReportStoreError) { try append(Array(text.utf8)) }

    func append(_ bytes: [UInt8]) throws(ReportStoreError) {
        if let error = writeAll(bytes, to: file) { throw ReportStoreError("write", path, errno: error) }
    }

    /// Gives the file its name; without this, the temporary file is removed.
    func finish() throws(ReportStoreError) {
        guard let temporary else {
            // Network file systems may report a full disk only on close.
            let isClosed = close(file) == 0
            file = -1
            guard isClosed else { throw ReportStoreError("write", path, errno: errno) }
            return
        }
        // Sync before the rename: after a power failure, the name could otherwise refer to an empty file.
        guard fsync(file) == 0 else { throw ReportStoreError("write", path, errno: errno) }
        if !replaces, linkat(folder, temporary, folder, name, 0) == 0 {
            discard()
            return try synchronizeFolder()
        }
        if !replaces, errno == EEXIST { throw alreadyThere }
        if renameat(folder, temporary, folder, name) == 0 {
            self.temporary = nil
            return try synchronizeFolder()
        }
        // rename(2) fails with EBUSY for a mount point, such as a file mounted into a container.
        guard errno == EBUSY, copied() else { throw ReportStoreError("write", path, errno: errno) }
    }

    /// Waits until the new name is on disk.
    private func synchronizeFolder() throws(ReportStoreError) {
        // The folder may be open as a path only, or not be readable.
        let readable = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard readable >= 0 else { return }
        defer { close(readable) }
        // EINVAL: not on this file system, fsync(2).
        guard fsync(readable) == 0 || errno == EINVAL || errno == EROFS else {
            throw ReportStoreError("write", path, errno: errno)
        }
    }

    /// Writes the whole file in place; false with errno if that fails.
    private func copied() -> Bool {
        let target = openat(folder, name, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW)
        guard target >= 0 else { return false }
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        var offset: off_t = 0
        while true {
            let length = pread(file, &buffer, buffer.count, offset)
            if length == 0 { return close(target) == 0 }
            let written = length < 0 ? -1 : Glibc.write(target, buffer, length)
            guard written > 0 else {
                let reason = written == 0 ? ENOSPC : errno
                close(target)
                errno = reason
                return false
            }
            offset += off_t(written)
        }
    }

    private func discard() {
        if file >= 0 { close(file) }
        if let temporary { unlinkat(folder, temporary, 0) }
        (file, temporary) = (-1, nil)
    }

    /// The name is hidden, and shortened so that the random part fits.
    private static func temporaryName(_ name: String) -> String {
        ".\(name.prefix(50)).\(String(UInt64.random(in: .min ... .max), radix: 36)).tmp"
    }
}
