// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux

/// A file that replaces another, or appears, only when it is complete.
///
/// A file that is not regular (`/dev/stdout`, a pipe, a link), has several names, or cannot be replaced (a mount point,
/// a file in a read-only directory) is written in place. A read-only file stays unchanged.
final class PartialFile {
    private let place: ExportPlace
    private let folder: OwnedDescriptor
    /// Whether an existing file is replaced.
    private let replaces: Bool
    /// Nil for a file that is written in place.
    private var prepared: PreparedFile?
    /// The file that is written in place, or -1.
    private var file: Int32 = -1

    /// Opens the file; a new one is readable by its owner only, and a replacement keeps the old mode and owner.
    init(_ place: ExportPlace, replacing replaces: Bool = true) throws(ReportStoreError) {
        (self.place, self.replaces) = (place, replaces)
        folder = try place.openFolder()
        var old = stat()
        let exists = fstatat(folder.number, place.name, &old, AT_SYMLINK_NOFOLLOW) == 0
        let isFile = old.st_mode & S_IFMT == S_IFREG || old.st_mode & S_IFMT == S_IFLNK
        if exists, isFile, !replaces { throw alreadyThere }
        guard exists else {
            prepared = try reporting("create", place.path) { () throws(Errno) in try prepare() }
            return
        }
        let isPlain =
            old.st_mode & S_IFMT == S_IFREG && old.st_nlink == 1
            && faccessat(folder.number, place.name, W_OK, 0) == 0
        // Replace only a file of our own whose group can be kept; another user's file, which may be planted, is written
        // in place.
        if isPlain, old.st_uid == geteuid(), let new = try? prepare(),
            fchown(new.descriptor, uid_t.max, old.st_gid) == 0
        {
            _ = fchmod(new.descriptor, old.st_mode & 0o777)
            prepared = new
            return
        }
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | (place.mayBeLink ? 0 : O_NOFOLLOW)
        file = openat(folder.number, place.name, flags, 0o600)
        guard file >= 0 else { throw ReportStoreError("create", place.path, errno: errno) }
    }

    deinit { if file >= 0 { close(file) } }

    private var alreadyThere: ReportStoreError {
        ReportStoreError(
            .failed, "create", place.path, reason: "there is such a file", errno: EEXIST,
            suggestion: "choose another name, or use --force")
    }

    /// The temporary name is hidden, and shortened so that the random part fits.
    private func prepare() throws(Errno) -> PreparedFile {
        let name = ".\(place.name.prefix(50)).\(String(UInt64.random(in: .min ... .max), radix: 36)).tmp"
        return try PreparedFile(name, in: folder, mode: 0o600)
    }

    func append(_ text: String) throws(ReportStoreError) { try append(Array(text.utf8)) }

    func append(_ bytes: [UInt8]) throws(ReportStoreError) {
        try reporting("write", place.path) { () throws(Errno) in
            if let prepared { try prepared.append(bytes) } else { try writeAll(bytes, to: file) }
        }
    }

    /// Gives the file its name; without this, the temporary file is removed.
    func finish() throws(ReportStoreError) {
        do throws(Errno) {
            guard let prepared else {
                defer { file = -1 }
                return try closing(file) {}
            }
            try prepared.synchronize()
            try name(prepared)
        } catch {
            if !replaces, error.rawValue == EEXIST { throw alreadyThere }
            throw ReportStoreError("write", place.path, errno: error.rawValue)
        }
    }

    private func name(_ prepared: PreparedFile) throws(Errno) {
        do throws(Errno) {
            if replaces { try prepared.rename(to: place.name) } else { try prepared.link(as: place.name) }
        } catch {
            // rename(2) fails with EBUSY for a mount point, such as a file mounted into a container.
            if replaces, error.rawValue == EBUSY { return try copy(prepared) }
            guard !replaces, error.isLackOfLinks else { throw error }
            try prepared.rename(to: place.name)
        }
        try folder.synchronizeNames()
    }

    /// Writes the whole file in place.
    private func copy(_ prepared: PreparedFile) throws(Errno) {
        let target = openat(folder.number, place.name, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW)
        guard target >= 0 else { throw .current }
        try closing(target) { () throws(Errno) in
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            var offset: off_t = 0
            while true {
                let length = pread(prepared.descriptor, &buffer, buffer.count, offset)
                guard length >= 0 else { throw .current }
                if length == 0 { break }
                try writeAll(Array(buffer.prefix(length)), to: target)
                offset += off_t(length)
            }
        }
    }
}

/// Closes a file after its last calls, even if one fails: network file systems may report a full disk only on close.
func closing(_ file: Int32, after calls: () throws(Errno) -> Void) throws(Errno) {
    do throws(Errno) {
        try calls()
    } catch {
        close(file)
        throw error
    }
    guard close(file) == 0 else { throw .current }
}
