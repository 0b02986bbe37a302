// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase

/// An open folder; every file is accessed through its descriptor and never through a symbolic link.
struct StoreFolder: ~Copyable {
    struct Status {
        var isRegular: Bool
        var isFolder: Bool
        var size: Int64
        var modified: WallTime
    }

    let path: String
    private let descriptor: Int32

    /// - Parameter isToRead: whether the caller only reads, which determines the error's advice.
    init(_ path: String, isToRead: Bool = false) throws(ReportStoreError) {
        // O_NONBLOCK: opening a FIFO in place of the folder must not block until it has a writer.
        descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK)
        self.path = path
        guard descriptor >= 0 else {
            throw isToRead
                ? ReportStoreError(reading: "open", path, errno: errno, code: .unusable)
                : ReportStoreError("open", path, errno: errno, code: .unusable)
        }
    }

    /// Opens a folder by an absolute or relative path; fails if any component is a link.
    init(withoutLinks path: String) throws(ReportStoreError) {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW
        var folder = open(path.hasPrefix("/") ? "/" : ".", flags)
        for part in path.split(separator: "/") where part != "." {
            let next = folder < 0 ? -1 : openat(folder, String(part), flags)
            let error = errno
            if folder >= 0 { close(folder) }
            errno = error
            folder = next
        }
        descriptor = folder
        self.path = path
        guard descriptor >= 0 else { throw ReportStoreError("open", path, errno: errno, code: .unusable) }
    }

    deinit {
        close(descriptor)
    }

    func pathOf(_ name: String) -> String { path.hasSuffix("/") ? path + name : "\(path)/\(name)" }

    private func failure(_ operation: String, _ name: String) -> ReportStoreError {
        ReportStoreError(operation, pathOf(name), errno: errno)
    }

    /// Creates a new file and fills it; leaves nothing behind on failure.
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
    ) throws(ReportStoreError) {
        let file = openat(descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
        guard file >= 0 else { throw failure("create", name) }
        let error =
            Self.fill(file, bytes, mode) ?? old.flatMap { Self.dress(file, like: $0) }
            ?? (isLasting && fsync(file) != 0 ? errno : nil)
        close(file)
        guard let error else { return }
        remove(name)
        throw ReportStoreError("write", pathOf(name), errno: error)
    }

    /// - Returns: the errno of the failed call; nil on success.
    private static func fill(_ file: Int32, _ bytes: [UInt8], _ mode: mode_t) -> Int32? {
        // open(2) applies the umask to its mode.
        fchmod(file, mode) == 0 ? writeAll(bytes, to: file) : errno
    }

    /// Copies a file's mode, owner and times to another file.
    ///
    /// - Returns: the errno of the failed call; nil on success.
    private static func dress(_ file: Int32, like old: stat) -> Int32? {
        // An unprivileged user cannot change a file's owner; the writing user then stays the owner.
        if fchown(file, old.st_uid, old.st_gid) != 0, errno != EPERM { return errno }
        let times = [old.st_atim, old.st_mtim]
        return fchmod(file, old.st_mode & 0o777) == 0 && futimens(file, times) == 0 ? nil : errno
    }

    /// Gives a file its final name; never replaces another file.
    ///
    /// - Returns: false if the name is taken.
    func publish(_ temporary: String, as name: String) throws(ReportStoreError) -> Bool {
        // link(2) fails on an existing name; rename(2) would replace it.
        if linkat(descriptor, temporary, descriptor, name, 0) == 0 {
            remove(temporary)
            return true
        }
        switch errno {
        case EEXIST: return false
        case EPERM, EOPNOTSUPP, ENOSYS, EMLINK: break  // No hard links here, as on FAT and some network file systems.
        default: throw failure("create", name)
        }
        let claim = openat(descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o640)
        guard claim >= 0 else {
            if errno == EEXIST { return false }
            throw failure("create", name)
        }
        close(claim)
        guard renameat(descriptor, temporary, descriptor, name) == 0 else {
            let error = failure("create", name)
            remove(name)
            throw error
        }
        return true
    }

    /// Waits until the folder's entries are on disk: fsync(2) of a file does not include its name.
    func synchronise() throws(ReportStoreError) {
        guard fsync(descriptor) == 0 else { throw failure("save", "") }
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

    /// Renames a file; an existing file of that name is replaced.
    ///
    /// - Returns: false on failure, with `errno` set.
    func rename(_ temporary: String, to name: String) -> Bool {
        renameat(descriptor, temporary, descriptor, name) == 0
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

/// Writes all bytes.
///
/// - Returns: the errno of the failed call; nil on success.
func writeAll(_ bytes: [UInt8], to file: Int32) -> Int32? {
    var offset = 0
    while offset < bytes.count {
        let count = bytes[offset...].withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return count < 0 ? errno : EIO }
        offset += count
    }
    return nil
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
