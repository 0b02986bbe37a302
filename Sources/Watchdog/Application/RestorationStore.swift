// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A file that keeps an app's state from one launch to the next.
///
/// The file has three names. The next launch may use `state`. A launch that uses it renames it to `state.launching`; if
/// that name still exists at the next launch, the previous one died, and the file is removed. `state.new` is being
/// written.
struct RestorationStore: Sendable {
    /// More than any app should keep; a larger file is not read.
    static let limit = 16 << 20

    private let folder: String
    private var path: String { "\(folder)/state" }
    private var launchingPath: String { "\(folder)/state.launching" }
    private var newPath: String { "\(folder)/state.new" }

    /// - Parameter folder: The folder of the file; created on first use.
    init(folder: String) {
        self.folder = folder
    }

    /// The store of an app: a folder with its name in `$XDG_STATE_HOME`, which is `~/.local/state` unless set.
    ///
    /// Source: XDG Base Directory Specification 0.8; a relative path there counts as unset.
    ///
    /// - Parameter identifier: A file name without slashes. The result is nil for any other text, and if there is no
    ///   home folder.
    init?(identifier: String) {
        guard !identifier.isEmpty, identifier != ".", identifier != "..", !identifier.contains("/"),
            !identifier.contains("\0")
        else { return nil }
        if let state = Self.path(in: "XDG_STATE_HOME") {
            self.init(folder: "\(state)/\(identifier)")
        } else if let home = Self.path(in: "HOME") {
            self.init(folder: "\(home)/.local/state/\(identifier)")
        } else {
            return nil
        }
    }

    private static func path(in variable: String) -> String? {
        guard let path = getenv(variable).map({ String(cString: $0) }), path.hasPrefix("/") else { return nil }
        return path
    }

    /// Moves the state of the previous launch aside and returns it, until the launch has completed.
    func takeForLaunch() -> [UInt8]? {
        unlink(launchingPath)
        guard rename(path, launchingPath) == 0 else { return nil }
        return read(launchingPath)
    }

    /// Makes the state available to the next launch again, because this launch has completed with it.
    func keepAfterLaunch() {
        guard access(path, F_OK) != 0 else {
            // A state saved since then is newer.
            unlink(launchingPath)
            return
        }
        rename(launchingPath, path)
    }

    /// Replaces the state as a whole: after a crash the file holds either the old or the new one.
    ///
    /// - Parameter state: The new content; nil to remove the file.
    /// - Returns: False if it could not be written.
    @discardableResult
    func save(_ state: [UInt8]?) -> Bool {
        guard let state else { return unlink(path) == 0 || errno == ENOENT }
        guard state.count <= Self.limit, makeFolder() else { return false }
        let file = open(newPath, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { return false }
        // Sync before the rename: after a power failure, the name could otherwise refer to an empty file.
        let isWritten = write(state, to: file) && fsync(file) == 0
        close(file)
        guard isWritten, rename(newPath, path) == 0 else {
            unlink(newPath)
            return false
        }
        return synchronizeFolder()
    }

    /// Waits until the new name is on disk.
    private func synchronizeFolder() -> Bool {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return errno == EACCES }
        defer { close(descriptor) }
        // EINVAL: not on this file system, fsync(2).
        return fsync(descriptor) == 0 || errno == EINVAL
    }

    private func makeFolder() -> Bool {
        var path = ""
        for part in folder.split(separator: "/") {
            path += "/\(part)"
            guard mkdir(path, 0o700) == 0 || errno == EEXIST || errno == EROFS || errno == EACCES else { return false }
        }
        return access(folder, W_OK | X_OK) == 0
    }

    private func write(_ bytes: [UInt8], to file: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private func read(_ path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var facts = stat()
        guard fstat(file, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_size <= Self.limit else {
            return nil
        }
        var bytes = [UInt8](repeating: 0, count: Int(facts.st_size))
        var length = 0
        while length < bytes.count {
            let count = bytes.withUnsafeMutableBytes {
                Glibc.read(file, $0.baseAddress.map { $0 + length }, $0.count - length)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            length += count
        }
        return length == bytes.count ? bytes : nil
    }
}
