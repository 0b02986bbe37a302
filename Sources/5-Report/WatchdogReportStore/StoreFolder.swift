// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux

/// An open folder; every file is accessed through its descriptor and never through a symbolic link.
struct StoreFolder {
    struct Status {
        var isRegular: Bool
        var isFolder: Bool
        var size: Int64
        var modified: WallTime
    }

    let path: String
    private let folder: OwnedDescriptor
    private var descriptor: Int32 { folder.number }

    /// - Parameter isToRead: whether the caller only reads, which determines the error's advice.
    init(_ path: String, isToRead: Bool = false) throws(ReportStoreError) {
        self.path = path
        do throws(LinuxError) {
            // O_NONBLOCK: opening a FIFO in place of the folder must not block until it has a writer.
            folder = try OwnedDescriptor(opening: path, flags: O_RDONLY | O_DIRECTORY | O_NONBLOCK)
        } catch {
            let number = error.errno.rawValue
            throw isToRead
                ? ReportStoreError(reading: "open", path, errno: number, code: .unusable)
                : ReportStoreError("open", path, errno: number, code: .unusable)
        }
    }

    /// Opens a folder by an absolute or relative path; fails if any component is a link.
    init(withoutLinks path: String) throws(ReportStoreError) {
        self.path = path
        do throws(LinuxError) {
            let flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_NOFOLLOW
            var folder = try OwnedDescriptor(opening: path.hasPrefix("/") ? "/" : ".", flags: flags)
            for part in path.split(separator: "/") where part != "." {
                folder = try OwnedDescriptor(opening: String(part), in: folder, flags: flags)
            }
            self.folder = folder
        } catch {
            throw ReportStoreError("open", path, errno: error.errno.rawValue, code: .unusable)
        }
    }

    func pathOf(_ name: String) -> String { path.hasSuffix("/") ? path + name : "\(path)/\(name)" }

    private func failure(_ operation: String, _ name: String) -> ReportStoreError {
        ReportStoreError(operation, pathOf(name), errno: errno)
    }

    /// Creates a file under a temporary name and fills it.
    ///
    /// Works only through the file's descriptor: any user with write permission to the folder can replace the name in
    /// the meantime.
    ///
    /// - Parameters:
    ///   - old: the file whose mode, owner and times to copy.
    ///   - mode: the mode of the file, unless it is copied from `old`.
    ///   - isLasting: whether to wait for the disk, which may take tens of milliseconds.
    func create(
        _ name: String, _ bytes: [UInt8], like old: stat? = nil, mode: mode_t = 0o640, isLasting: Bool = true
    ) throws(ReportStoreError) -> PreparedFile {
        let file = try reporting("create", pathOf(name)) { () throws(Errno) in
            try PreparedFile(name, in: folder, mode: mode)
        }
        try reporting("write", pathOf(name)) { () throws(Errno) in
            // open(2) applies the umask to its mode.
            guard fchmod(file.descriptor, mode) == 0 else { throw .current }
            try file.append(bytes)
            if let old { try Self.dress(file.descriptor, like: old) }
            if isLasting { try file.synchronize() }
        }
        return file
    }

    /// Copies a file's mode, owner and times to another file.
    private static func dress(_ file: Int32, like old: stat) throws(Errno) {
        // An unprivileged user cannot change a file's owner; the writing user then stays the owner.
        if fchown(file, old.st_uid, old.st_gid) != 0, errno != EPERM { throw .current }
        let times = [old.st_atim, old.st_mtim]
        guard fchmod(file, old.st_mode & 0o777) == 0 && futimens(file, times) == 0 else { throw .current }
    }

    /// Gives a file its final name; never replaces another file.
    ///
    /// - Returns: false if the name is taken.
    func publish(_ file: PreparedFile, as name: String) throws(ReportStoreError) -> Bool {
        do throws(Errno) {
            try file.link(as: name)
            return true
        } catch {
            if error.rawValue == EEXIST { return false }
            guard error.isLackOfLinks else { throw ReportStoreError("create", pathOf(name), errno: error.rawValue) }
        }
        let claim = openat(descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o640)
        guard claim >= 0 else {
            if errno == EEXIST { return false }
            throw failure("create", name)
        }
        close(claim)
        do throws(Errno) {
            try file.rename(to: name)
        } catch {
            remove(name)
            throw ReportStoreError("create", pathOf(name), errno: error.rawValue)
        }
        return true
    }

    /// Waits until the folder's entries are on disk: fsync(2) of a file does not include its name.
    func synchronise() throws(ReportStoreError) {
        try reporting("save", pathOf("")) { () throws(Errno) in try folder.synchronizeNames() }
    }

    @discardableResult
    func remove(_ name: String) -> Bool {
        unlinkat(descriptor, name, 0) == 0
    }

    /// The status of a file; nil without such a file.
    func status(_ name: String) -> Status? {
        var status = stat()
        guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
        return Status(status)
    }

    /// All attributes of a file; nil without such a file.
    func attributes(_ name: String) -> stat? {
        var status = stat()
        return fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
    }

    /// The names of all files, in no particular order.
    func names() throws(ReportStoreError) -> [String] {
        // fdopendir(3) takes ownership of the descriptor, and a descriptor made by dup(2) would share the position.
        let own = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard own >= 0, let stream = fdopendir(own) else { throw failure("list", "") }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(validatingCString: $0) }
            }
            if let name { names.append(name) }
        }
        return names
    }

    /// The first bytes of a file.
    func read(_ name: String, limit: Int) throws(ReportStoreError) -> [UInt8] {
        let file = openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
        guard file >= 0 else { throw ReportStoreError(reading: "open", pathOf(name), errno: errno) }
        defer { close(file) }
        return try Self.read(file, pathOf(name), limit: limit)
    }

    /// The first bytes of a file at a path that the user named; follows symbolic links.
    static func read(path: String, limit: Int) throws(ReportStoreError) -> [UInt8] {
        let file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { throw ReportStoreError(reading: "open", path, errno: errno) }
        defer { close(file) }
        return try read(file, path, limit: limit)
    }

    private static func read(_ file: Int32, _ path: String, limit: Int) throws(ReportStoreError) -> [UInt8] {
        var status = stat()
        guard fstat(file, &status) == 0 else { throw ReportStoreError("read", path, errno: errno) }
        guard Status(status).isRegular else {
            throw ReportStoreError(.damaged, "read", path, reason: "not a regular file")
        }
        let size = min(Int(clamping: status.st_size), limit)
        var error: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            while count < size {
                let step = Glibc.read(file, buffer.baseAddress.map { $0 + count }, size - count)
                if step < 0, errno == EINTR { continue }
                if step < 0 { error = errno }
                guard step > 0 else { break }
                count += step
            }
        }
        guard error == 0 else { throw ReportStoreError("read", path, errno: error) }
        return bytes
    }
}

extension StoreFolder.Status {
    init(_ status: stat) {
        self.init(
            isRegular: status.st_mode & S_IFMT == S_IFREG,
            isFolder: status.st_mode & S_IFMT == S_IFDIR,
            size: Int64(status.st_size),
            modified: WallTime(
                seconds: Int64(status.st_mtim.tv_sec), nanoseconds: Int32(clamping: status.st_mtim.tv_nsec))
        )
    }
}
