// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// Writes files that exist either completely or not at all.
public enum AtomicFile {
    /// Replaces a file: writes a temporary file beside it, syncs it, renames it, and syncs the folder.
    ///
    /// A path that is not a regular file (a pipe, `/dev/stderr`) or that something is mounted on, as container engines do
    /// with single files, is written to directly. A link is followed only if nobody but root and this user can have made it.
    ///
    /// - Parameter mode: whatever the umask says; nil for 0640 less the umask.
    /// - Throws: ``LinuxError`` for the step that failed; the previous file is then still there, unless only the folder
    ///   could not be synced. Nothing else is left behind.
    public static func write(_ bytes: [UInt8], to path: String, mode: UInt32? = nil) throws(LinuxError) {
        guard isReplaceable(path) else {
            try writeAll(bytes, to: try openInPlace(path), path)
            return
        }
        let place = try FilePlace(path)
        try complete(bytes, in: place, mode: mode) { place.rename($0) }
    }

    /// Creates a file that does not exist yet, complete from the start.
    ///
    /// - Parameter mode: whatever the umask says; nil for 0640 less the umask.
    /// - Throws: ``LinuxError`` for the step that failed; EEXIST if there is anything of this name.
    public static func create(_ bytes: [UInt8], at path: String, mode: UInt32? = nil) throws(LinuxError) {
        let place = try FilePlace(path)
        try complete(bytes, in: place, mode: mode) { place.link($0) }
    }

    /// Writes several files of a folder: all of them, or none if there is no room for one.
    ///
    /// - Parameter replaces: whether files that are there are replaced, as ``write(_:to:mode:)`` does; otherwise that is an
    ///   error.
    /// - Throws: ``LinuxError`` for the first step that failed. If somebody else took a name meanwhile, the files before it
    ///   are there; otherwise all are as they were.
    public static func write(
        _ files: [(name: String, bytes: [UInt8])], in folder: String, replacing replaces: Bool
    ) throws(LinuxError) {
        guard let first = files.first else { return }
        let place = try FilePlace((folder.hasSuffix("/") ? folder : "\(folder)/") + first.name)
        var prepared: [PreparedFile] = []
        var others: [(path: String, bytes: [UInt8])] = []
        for file in files {
            let own = place.beside(file.name)
            if replaces, !isReplaceable(own.path) {
                others.append((own.path, file.bytes))
            } else {
                prepared.append(try PreparedFile(file.bytes, in: own, mode: nil))
            }
        }
        for file in prepared {
            try file.appear { place, temporary in replaces ? place.rename(temporary) : place.link(temporary) }
        }
        for file in others { try write(file.bytes, to: file.path) }
    }

    private static func complete(
        _ bytes: [UInt8], in place: FilePlace, mode: UInt32?, _ name: (_ temporary: String) -> Int32
    ) throws(LinuxError) {
        try PreparedFile(bytes, in: place, mode: mode).appear { _, temporary in name(temporary) }
    }

    /// A complete file under another name; removed unless it gets its own.
    private final class PreparedFile {
        private let place: FilePlace
        private var temporary: String?

        init(_ bytes: [UInt8], in place: FilePlace, mode: UInt32?) throws(LinuxError) {
            self.place = place
            let name = place.temporaryName
            let file = try place.create(name)
            temporary = name
            if let mode, fchmod(file.number, mode) != 0 {
                throw LinuxError("set the mode of \(place.path)", Errno(rawValue: errno))
            }
            try writeAll(bytes, to: file, place.path)
            guard fsync(file.number) == 0 else { throw LinuxError("write \(place.path)", Errno(rawValue: errno)) }
        }

        deinit { if let temporary { place.remove(temporary) } }

        /// Gives it its own name by a call, which removes or renames the temporary one.
        func appear(by call: (_ place: FilePlace, _ temporary: String) -> Int32) throws(LinuxError) {
            guard let temporary else { return }
            guard call(place, temporary) == 0 else {
                throw LinuxError("write \(place.path)", Errno(rawValue: errno))
            }
            self.temporary = nil
            try place.synchronize()
        }
    }

    /// Checks in advance whether ``write(_:to:)`` can succeed; whether a FIFO has a reader by then is not known.
    ///
    /// - Throws: ``LinuxError`` if the file cannot be created or written to.
    public static func check(_ path: String) throws(LinuxError) {
        guard isReplaceable(path) else {
            try checkInPlace(path)
            return
        }
        let place = try FilePlace(path)
        let temporary = place.temporaryName
        _ = try place.create(temporary)
        place.remove(temporary)
    }

    private static func openInPlace(_ path: String) throws(LinuxError) -> OwnedDescriptor {
        let file: OwnedDescriptor
        do throws(LinuxError) {
            // Only a regular file is shortened by this. A FIFO without a reader would block forever: fifo(7).
            file = try GuardedPath(path).open(flags: O_WRONLY | O_TRUNC | O_NONBLOCK)
        } catch {
            guard error.errno == .noSuchDevice else { throw error }
            throw LinuxError("open \(path), from which nobody reads", error.errno)
        }
        // A reader may be slower than the writer.
        _ = fcntl(file.number, F_SETFL, O_WRONLY)
        return file
    }

    private static func checkInPlace(_ path: String) throws(LinuxError) {
        let guarded = try GuardedPath(path)
        let file = try guarded.open(flags: wd_open_path)
        var status = stat()
        guard fstat(file.number, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else {
            _ = try guarded.open(flags: O_WRONLY | O_NONBLOCK)
            return
        }
        // Its reader would take the closing of what is opened here for the end of the file.
        guard access("/proc/self/fd/\(file.number)", W_OK) == 0 else {
            throw LinuxError("open \(path)", Errno(rawValue: errno))
        }
    }

    private static func isReplaceable(_ path: String) -> Bool {
        var information = stat()
        guard lstat(path, &information) == 0 else { return true }
        return information.st_mode & S_IFMT == S_IFREG && !wd_is_mount_point(path)
    }

    private static func writeAll(_ bytes: [UInt8], to file: OwnedDescriptor, _ path: String) throws(LinuxError) {
        var offset = 0
        while offset < bytes.count {
            let written = bytes[offset...].withUnsafeBytes { Glibc.write(file.number, $0.baseAddress, $0.count) }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw LinuxError("write \(path)", Errno(rawValue: written < 0 ? errno : EIO)) }
            offset += written
        }
    }
}
