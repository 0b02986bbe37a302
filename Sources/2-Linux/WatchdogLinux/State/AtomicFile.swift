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
            let file = try openInPlace(path)
            return try writing(path) { () throws(Errno) in try writeAll(bytes, to: file.number) }
        }
        try Completed(bytes, in: try FilePlace(path), mode: mode).appear(replacing: true)
    }

    /// Creates a file that does not exist yet, complete from the start.
    ///
    /// - Parameter mode: whatever the umask says; nil for 0640 less the umask.
    /// - Throws: ``LinuxError`` for the step that failed; EEXIST if there is anything of this name.
    public static func create(_ bytes: [UInt8], at path: String, mode: UInt32? = nil) throws(LinuxError) {
        try Completed(bytes, in: try FilePlace(path), mode: mode).appear(replacing: false)
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
        var completed: [Completed] = []
        var others: [(path: String, bytes: [UInt8])] = []
        for file in files {
            let own = place.beside(file.name)
            if replaces, !isReplaceable(own.path) {
                others.append((own.path, file.bytes))
            } else {
                completed.append(try Completed(file.bytes, in: own, mode: nil))
            }
        }
        for file in completed { try file.appear(replacing: replaces) }
        for file in others { try write(file.bytes, to: file.path) }
    }

    /// A complete file, which only lacks its name.
    private struct Completed {
        private let place: FilePlace
        private let file: PreparedFile

        init(_ bytes: [UInt8], in place: FilePlace, mode: UInt32?) throws(LinuxError) {
            self.place = place
            let file = try place.prepare()
            self.file = file
            if let mode, fchmod(file.descriptor, mode) != 0 {
                throw LinuxError("set the mode of \(place.path)", .current)
            }
            try writing(place.path) { () throws(Errno) in
                try file.append(bytes)
                try file.synchronize()
            }
        }

        func appear(replacing replaces: Bool) throws(LinuxError) {
            try writing(place.path) { () throws(Errno) in
                if replaces { try file.rename(to: place.name) } else { try file.link(as: place.name) }
                try place.descriptor.synchronizeNames()
            }
        }
    }

    private static func writing(_ path: String, _ calls: () throws(Errno) -> Void) throws(LinuxError) {
        do throws(Errno) { try calls() } catch { throw LinuxError("write \(path)", error) }
    }

    /// Checks in advance whether ``write(_:to:)`` can succeed; whether a FIFO has a reader by then is not known.
    ///
    /// - Throws: ``LinuxError`` if the file cannot be created or written to.
    public static func check(_ path: String) throws(LinuxError) {
        guard isReplaceable(path) else {
            try checkInPlace(path)
            return
        }
        _ = try FilePlace(path).prepare()
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
}
