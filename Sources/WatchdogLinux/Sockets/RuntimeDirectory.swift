// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A directory for this process's sockets, in which nobody else may create anything.
///
/// Root's can be entered, though not listed, by other users, whose apps have to reach their sockets.
public struct RuntimeDirectory: Hashable, Sendable {
    /// Its path.
    public let path: String

    /// Creates `/run/watchdogd/PID` for root, `$XDG_RUNTIME_DIR/watchdogd/PID` for others, and a directory with a random
    /// name in `$TMPDIR` or `/tmp` where neither is possible.
    ///
    /// An existing directory is used only if it belongs to this user and nobody else may write to it.
    public static func create(environment: Environment = .inherited) throws(LinuxError) -> RuntimeDirectory {
        let isRoot = geteuid() == 0
        let mode: mode_t = isRoot ? 0o711 : 0o700
        let base = isRoot ? "/run" : environment["XDG_RUNTIME_DIR"]
        if let base, base.hasPrefix("/"), prepare("\(base)/watchdogd", mode: mode) {
            removeLeftovers(in: "\(base)/watchdogd")
            let path = "\(base)/watchdogd/\(getpid())"
            if prepare(path, mode: mode) { return RuntimeDirectory(path: path) }
        }
        let temporary = environment["TMPDIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
        var template = Array("\(temporary)/watchdogd-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw LinuxError("create a directory in \(temporary)", .current) }
        chmod(template, mode)
        let bytes = template.dropLast().map { UInt8(bitPattern: $0) }
        return RuntimeDirectory(path: String(decoding: bytes, as: UTF8.self))
    }

    /// Creates a directory that the next process finds again, NAME in the service manager's `$RUNTIME_DIRECTORY`
    /// (systemd.exec(5)) or else in `/run/watchdogd` for root, `$XDG_RUNTIME_DIR/watchdogd` for others, and
    /// `/tmp/watchdogd-UID` where none of these is possible.
    ///
    /// An existing directory is used only if it belongs to this user and nobody else may write to it.
    ///
    /// - Parameter name: no number, which would be a process's.
    public static func lasting(
        _ name: String, environment: Environment = .inherited
    ) throws(LinuxError) -> RuntimeDirectory {
        let isRoot = geteuid() == 0
        let mode: mode_t = isRoot ? 0o711 : 0o700
        let temporary = environment["TMPDIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
        let base = (isRoot ? "/run" : environment["XDG_RUNTIME_DIR"]).flatMap { $0.hasPrefix("/") ? $0 : nil }
        // Several are separated by colons.
        let given = environment["RUNTIME_DIRECTORY"]?.split(separator: ":").first.map { String($0) }
        let directories = [given, base.map { "\($0)/watchdogd" }, "\(temporary)/watchdogd-\(geteuid())"]
        for directory in directories.compactMap(\.self)
        where directory.hasPrefix("/") && prepare(directory, mode: mode) && prepare("\(directory)/\(name)", mode: mode)
        {
            return RuntimeDirectory(path: "\(directory)/\(name)")
        }
        throw LinuxError("create a directory \(name) in \(base ?? temporary)", .current)
    }

    /// Removes the directory and the sockets in it.
    public func remove() {
        Self.remove(path)
    }

    private static func prepare(_ path: String, mode: mode_t) -> Bool {
        guard mkdir(path, 0o700) == 0 || Errno.current == .fileExists,
            let directory = try? OwnedDescriptor(opening: path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        else { return false }
        var information = stat()
        guard fstat(directory.number, &information) == 0, information.st_uid == geteuid(),
            information.st_mode & 0o022 == 0
        else { return false }
        // Another reader of the directory, such as the control socket's, may have opened it further.
        let wanted = information.st_mode & 0o7777 | mode
        return fchmod(directory.number, wanted) == 0 && access(path, W_OK) == 0
    }

    private static func removeLeftovers(in base: String) {
        guard let directory = opendir(base) else { return }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let pid = withUnsafeBytes(of: &entry.pointee.d_name) { Int32(decimal: $0.prefix { $0 != 0 }) }
            if let pid, kill(pid, 0) != 0, Errno.current == .noSuchProcess { remove("\(base)/\(pid)") }
        }
    }

    private static func remove(_ path: String) {
        guard let directory = opendir(path) else { return }
        defer {
            closedir(directory)
            rmdir(path)
        }
        while let entry = readdir(directory) {
            guard entry.pointee.d_type == UInt8(DT_SOCK) else { continue }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            unlink("\(path)/\(name)")
        }
    }
}
