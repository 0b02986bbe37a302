// SPDX-License-Identifier: Apache-2.0

import Glibc
public import WatchdogConfiguration
import WatchdogLinux

/// The file system of this machine.
public struct HostFileSystem: ConfigurationFileSystem, Sendable {
    /// Whether what is read decides what root does.
    private let isJudged: Bool

    /// Creates a file system with the rights of this process.
    public init() { self.init(isJudged: false) }

    private init(isJudged: Bool) { self.isJudged = isJudged }

    /// The file system from which a daemon reads what it is to run.
    ///
    /// Root's daemon reads only what nobody else could have written or put there, and judges what it has opened: neither
    /// an exchange of names in between nor a link helps who wants root to run something.
    package static var ofDaemon: HostFileSystem { HostFileSystem(isJudged: geteuid() == 0) }

    /// Whether there is a directory at `path`.
    public func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// The bytes of a regular file, at most `limit` of them; any other file is closed once its type is known.
    public func contents(of path: String, limit: Int) throws(ConfigurationReadError) -> [UInt8] {
        try contents(of: path, limit: limit) { flags throws(LinuxError) in try open(path, flags) }
    }

    private func open(_ path: String, _ flags: Int32) throws(LinuxError) -> OwnedDescriptor {
        isJudged
            ? try GuardedPath(path).openTrusted(flags: flags) : try OwnedDescriptor(opening: path, flags: flags)
    }

    /// The same, but through no link that others than root and watchdogd's user could have made.
    ///
    /// The app's user must not be able to have root read another file for the app.
    func guardedContents(of path: String, limit: Int) throws(ConfigurationReadError) -> [UInt8] {
        try contents(of: path, limit: limit) { flags throws(LinuxError) in try GuardedPath(path).open(flags: flags) }
    }

    private func contents(
        of path: String, limit: Int, _ open: (Int32) throws(LinuxError) -> OwnedDescriptor
    ) throws(ConfigurationReadError) -> [UInt8] {
        let bytes: [UInt8]?
        do throws(LinuxError) {
            // Without O_NONBLOCK, open(2) of a FIFO without a writer would block forever.
            bytes = try Self.bytes(of: try open(O_RDONLY | O_NONBLOCK | O_NOCTTY), path, limit: limit)
        } catch {
            throw Self.failure(error)
        }
        if let bytes { return bytes }
        throw ConfigurationReadError(isMissing: false, "cannot read \(path): not a regular file")
    }

    /// Nil if it is not a regular file.
    private static func bytes(of file: OwnedDescriptor, _ path: String, limit: Int) throws(LinuxError) -> [UInt8]? {
        var status = stat()
        guard fstat(file.number, &status) == 0 else { throw LinuxError("read \(path)", Errno(rawValue: errno)) }
        guard status.st_mode & S_IFMT == S_IFREG else { return nil }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: min(limit, 65_536))
        while bytes.count < limit {
            let count = read(file.number, &buffer, min(buffer.count, limit - bytes.count))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw LinuxError("read \(path)", Errno(rawValue: errno)) }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return bytes
    }

    /// The names in a directory.
    public func names(in directory: String) throws(ConfigurationReadError) -> [String] {
        let folder: OwnedDescriptor
        do throws(LinuxError) {
            folder = try open(directory, O_RDONLY | O_DIRECTORY | O_NONBLOCK)
        } catch {
            throw Self.failure(error)
        }
        guard let stream = folder.openDirectory() else {
            throw Self.failure(LinuxError("list \(directory)", Errno(rawValue: errno)))
        }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// What a symbolic link contains; nil if there is none at the path.
    public func link(at path: String) -> String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }

    /// Adds the missing right to an error about permissions.
    private static func failure(_ error: LinuxError) -> ConfigurationReadError {
        let who = geteuid() == 0 ? "" : "; make it readable by user \(geteuid()), or run this as root"
        let hint = error.errno == .permissionDenied ? who : ""
        return ConfigurationReadError(isMissing: error.errno == .noSuchFile, error.description + hint)
    }
}

extension Environment {
    /// The folder below which a user's files are: `HOME`, or what the user database has, or else a folder of this user's
    /// alone in `/tmp`.
    ///
    /// Nothing can be made below the last resort, `/dev/null`. What others can put in place is never used: they would
    /// choose what runs, and read the reports.
    package var home: String {
        if let home = self["HOME"], home.hasPrefix("/") { return home }
        if let home = try? UserAccount.find(user: String(geteuid())).home, home.hasPrefix("/") { return home }
        return RuntimeDirectory.ownFolder(in: "/tmp") ?? "/dev/null"
    }
}

extension Specifiers {
    /// The values of specifiers on this machine: those of a system daemon for root, otherwise those of a user's daemon.
    public static var host: Specifiers {
        let user = try? UserAccount.find(user: String(geteuid()))
        let environment = Environment.inherited
        var specifiers =
            geteuid() == 0
            ? Specifiers.system
            : Specifiers.user(home: user?.home ?? environment["HOME"] ?? "/") { environment[$0] }
        specifiers.userName = user?.name
        specifiers.userID = geteuid()
        specifiers.hostName = Machine.hostName
        specifiers.machineID = Machine.identifier
        specifiers.bootID = Machine.bootIdentifier.filter { $0 != "-" }
        specifiers.kernelRelease = Machine.kernelRelease
        return specifiers
    }
}
