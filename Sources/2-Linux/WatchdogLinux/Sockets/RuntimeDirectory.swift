// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A directory for this process's sockets, in which nobody else may create anything.
///
/// Each creation makes another directory: a process can have several supervisors, and each removes only its own sockets.
/// Other users can enter it, but not list it: programs that change their user must reach their sockets.
public struct RuntimeDirectory: Sendable {
    /// Others may use what they know the name of.
    private static let mode: mode_t = 0o711
    /// Entries of a shared directory that are searched for leftovers.
    private static let mostEntries = 4_096

    /// The path of the directory.
    public let path: String
    /// The directory as it was found, for all sockets in it.
    let folder: HeldFolder

    init(path: String) {
        self.path = path
        folder = HeldFolder(path)
    }

    /// Creates `/run/watchdogd/PID-RANDOM` for root, `$XDG_RUNTIME_DIR/watchdogd/PID-RANDOM` for other users, or else
    /// `watchdogd-PID-RANDOM` in the first of these that can be written to: `$TMPDIR`, `$XDG_RUNTIME_DIR`, `/tmp`,
    /// `/dev/shm`, `folder`.
    ///
    /// Places that every user can enter come first, in this order. `$XDG_RUNTIME_DIR` is usually none of them, but a
    /// program that changes its user must reach its sockets. A container with a read-only root often has only one of
    /// these places. `/run/watchdogd` is used only if it belongs to this user and nobody else may write to it.
    ///
    /// - Parameter folder: the last resort, such as the folder of reports; ignored unless it is an absolute path.
    /// - Throws: ``LinuxError`` that names all places that were tried, with the reason of the first.
    public static func create(
        environment: Environment = .inherited, orIn folder: String? = nil
    ) throws(LinuxError) -> RuntimeDirectory {
        let own = [environment["TMPDIR"], environment["XDG_RUNTIME_DIR"]]
        return try create(in: own + ["/tmp", "/dev/shm", folder], environment)
    }

    static func create(in candidates: [String?], _ environment: Environment) throws(LinuxError) -> RuntimeDirectory {
        let base = geteuid() == 0 ? "/run" : environment["XDG_RUNTIME_DIR"]
        var places: [String] = []
        for place in candidates.compactMap(\.self) where place.hasPrefix("/") && !places.contains(place) {
            places.append(place)
        }
        var first: Errno?
        for isOpen in [true, false] {
            if let base, base.hasPrefix("/"), admitsEveryone(base) == isOpen, prepare("\(base)/watchdogd") {
                removeLeftovers(in: "\(base)/watchdogd", prefix: "")
                if let directory = try? make(in: "\(base)/watchdogd/") { return directory }
            }
            for place in places where admitsEveryone(place) == isOpen {
                removeLeftovers(in: place, prefix: "watchdogd-")
                do throws(LinuxError) {
                    return try make(in: "\(place)/watchdogd-")
                } catch {
                    first = first ?? error.errno
                }
            }
        }
        throw LinuxError(
            "create a directory for sockets in any of \(places.joined(separator: ", "))"
                + "; set TMPDIR to a directory that can be written to", first ?? .noSuchFile)
    }

    /// Whether every user may enter a directory, and each directory on the way to it.
    static func admitsEveryone(_ path: String) -> Bool {
        guard let resolved = realpath(path, nil) else { return false }
        defer { free(resolved) }
        var directory = String(cString: resolved)
        while true {
            var information = stat()
            guard stat(directory, &information) == 0, information.st_mode & 0o001 != 0 else { return false }
            guard directory != "/", let slash = directory.lastIndex(of: "/") else { return true }
            directory = slash == directory.startIndex ? "/" : String(directory[..<slash])
        }
    }

    private static func make(in prefix: String) throws(LinuxError) -> RuntimeDirectory {
        var template = Array("\(prefix)\(getpid())-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw LinuxError("create a directory \(prefix)…", .current) }
        chmod(template, mode)
        let bytes = template.dropLast().map { UInt8(bitPattern: $0) }
        return RuntimeDirectory(path: String(decoding: bytes, as: UTF8.self))
    }

    /// Creates a directory that the next process can find again: NAME in the service manager's `$RUNTIME_DIRECTORY`
    /// (systemd.exec(5)), or else in `/run/watchdogd` for root, in `$XDG_RUNTIME_DIR/watchdogd` for other users, or in
    /// `/tmp/watchdogd-UID` if none of these is possible.
    ///
    /// An existing directory is used only if it belongs to this user and nobody else may write to it.
    ///
    /// - Parameter name: Must not begin with a number, as the name of a process's directory does.
    public static func lasting(
        _ name: String, environment: Environment = .inherited
    ) throws(LinuxError) -> RuntimeDirectory {
        let isRoot = geteuid() == 0
        let temporary = environment["TMPDIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
        let base = (isRoot ? "/run" : environment["XDG_RUNTIME_DIR"]).flatMap { $0.hasPrefix("/") ? $0 : nil }
        // Several directories are separated by colons.
        let given = environment["RUNTIME_DIRECTORY"]?.split(separator: ":").first.map { String($0) }
        let directories = [given, base.map { "\($0)/watchdogd" }, "\(temporary)/watchdogd-\(geteuid())"]
        for directory in directories.compactMap(\.self)
        where directory.hasPrefix("/") && prepare(directory) && prepare("\(directory)/\(name)") {
            return RuntimeDirectory(path: "\(directory)/\(name)")
        }
        throw LinuxError("create a directory \(name) in \(base ?? temporary)", .current)
    }

    /// A folder of this user's alone, `watchdogd-UID`, made if need be; nil if somebody else has taken the name.
    ///
    /// - Parameter place: a folder like `/tmp`, in which others can create, but not exchange, names.
    public static func ownFolder(in place: String) -> String? {
        let path = "\(place)/watchdogd-\(geteuid())"
        return prepare(path, mode: 0o700) ? path : nil
    }

    /// Removes the directory and the sockets in it.
    public func remove() { Self.remove(path) }

    private static func prepare(_ path: String, mode: mode_t = Self.mode) -> Bool {
        guard mkdir(path, 0o700) == 0 || Errno.current == .fileExists,
            let directory = try? OwnedDescriptor(opening: path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        else { return false }
        var information = stat()
        guard fstat(directory.number, &information) == 0, information.st_uid == geteuid(),
            information.st_mode & 0o022 == 0
        else { return false }
        // Another user of the directory, such as the control socket, may have relaxed its mode.
        let wanted = information.st_mode & 0o7777 | mode
        return fchmod(directory.number, wanted) == 0 && access(path, W_OK) == 0
    }

    /// Removes directories of this user's processes that are gone, named PREFIX, process and `-RANDOM`.
    static func removeLeftovers(in base: String, prefix: String) {
        guard let directory = opendir(base) else { return }
        defer { closedir(directory) }
        var entries = 0
        while entries < mostEntries, let entry = readdir(directory) {
            entries += 1
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name.hasPrefix(prefix) else { continue }
            let parts = name.dropFirst(prefix.count).split(separator: "-", omittingEmptySubsequences: false)
            // Earlier versions named it after the process alone.
            guard parts.count <= 2, let pid = Int32(decimal: parts[0].utf8), pid > 0 else { continue }
            if kill(pid, 0) != 0, Errno.current == .noSuchProcess { remove("\(base)/\(name)") }
        }
    }

    /// In a directory that others may write to, the name may lead to something of theirs.
    private static func remove(_ path: String) {
        guard
            let descriptor = try? OwnedDescriptor(opening: path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        else { return }
        var information = stat()
        guard fstat(descriptor.number, &information) == 0, information.st_uid == geteuid() else { return }
        guard let directory = descriptor.openDirectory() else { return }
        defer {
            closedir(directory)
            rmdir(path)
        }
        while let entry = readdir(directory) {
            guard entry.pointee.d_type == UInt8(DT_SOCK) else { continue }
            _ = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: name.pointee)) {
                    unlinkat(descriptor.number, $0, 0)
                }
            }
        }
    }
}

extension RuntimeDirectory: Hashable {
    /// Whether both have the same path.
    public static func == (left: RuntimeDirectory, right: RuntimeDirectory) -> Bool { left.path == right.path }

    /// Hashes the path.
    public func hash(into hasher: inout Hasher) { hasher.combine(path) }
}
