// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import Synchronization

/// A directory for one app's output and reports, removed with its last reference unless it is kept.
///
/// A killed runner leaves its directories behind, and the next one removes them. A lock on a file in the directory
/// shows whether its runner still exists.
final class ScratchDirectory: Sendable {
    /// The maximum number of bytes to show of a file.
    private static let longest = 1 << 20

    /// The locked file.
    private static let lockName = ".lock"
    private static let prefix = "watchdogd-testing-"

    private let path: String
    private let isKept = Mutex(false)
    private let lock: Int32
    private static let sweeping = Mutex<Set<String>>([])

    init() throws(TestSetupError) {
        let base = getenv("TMPDIR").map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
        // Sweep once for each runner and base directory.
        if Self.sweeping.withLock({ $0.insert(base).inserted }) { Self.sweep(base) }
        var template = Array("\(base)/\(Self.prefix)XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw TestSetupError("cannot create a directory in \(base): \(String(cString: strerror(errno)))")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // Locked before it has its name, so that no other runner finds it unlocked.
        lock = open("\(path)/\(Self.lockName)-new", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        if lock >= 0, flock(lock, LOCK_EX | LOCK_NB) == 0 {
            rename("\(path)/\(Self.lockName)-new", "\(path)/\(Self.lockName)")
        }
    }

    deinit {
        defer { if lock >= 0 { close(lock) } }
        if !isKept.withLock({ $0 }) { try? FileManager.default.removeItem(atPath: path) }
    }

    subscript(name: String) -> String { "\(path)/\(name)" }

    func keep() {
        isKept.withLock { $0 = true }
        unlink("\(path)/\(Self.lockName)")
    }

    /// Removes the directories of this user's killed runners.
    static func sweep(_ base: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: base)) ?? []
        for name in names where name.hasPrefix(prefix) {
            let path = "\(base)/\(name)"
            var information = stat()
            guard lstat(path, &information) == 0, information.st_mode & S_IFMT == S_IFDIR,
                information.st_uid == geteuid()
            else { continue }
            let lock = open("\(path)/\(lockName)", O_RDWR | O_CLOEXEC | O_NOFOLLOW)
            guard lock >= 0 else { continue }
            if flock(lock, LOCK_EX | LOCK_NB) == 0 { try? FileManager.default.removeItem(atPath: path) }
            close(lock)
        }
    }

    func crashLogs(in folder: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: self[folder])) ?? []
        return names.filter { $0.hasSuffix(".ips") }.map { "\(self[folder])/\($0)" }
    }

    /// The contents of a file, without its last line break; empty without the file.
    func text(_ name: String) -> String {
        guard let data = FileManager.default.contents(atPath: self[name]) else { return "" }
        let text = String(decoding: data.prefix(Self.longest), as: UTF8.self)
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }
}
