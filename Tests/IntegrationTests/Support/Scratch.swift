// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import WatchdogLinux

/// A test's own directory, which is removed with its content.
final class Scratch {
    let path: String

    init() throws {
        var template = Array("/tmp/watchdogd-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw LinuxError("make \(template)", Errno(rawValue: errno)) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The path of a file in it.
    subscript(name: String) -> String { "\(path)/\(name)" }

    @discardableResult
    func write(_ text: String, to name: String, mode: mode_t = 0o644) throws -> String {
        let file = try OwnedDescriptor(opening: self[name], flags: O_WRONLY | O_CREAT | O_TRUNC)
        let bytes = Array(text.utf8)
        guard Glibc.write(file.number, bytes, bytes.count) == bytes.count, chmod(self[name], mode) == 0 else {
            throw LinuxError("write \(self[name])", Errno(rawValue: errno))
        }
        return self[name]
    }

    func makeDirectory(_ name: String, mode: mode_t = 0o755) throws -> String {
        guard mkdir(self[name], mode) == 0 else { throw LinuxError("make \(self[name])", Errno(rawValue: errno)) }
        return self[name]
    }

    /// Writes to a file that exists, such as one of a cgroup; returns its path.
    static func appending(_ text: String, to path: String) throws -> String {
        let file = try OwnedDescriptor(opening: path, flags: O_WRONLY)
        let bytes = Array(text.utf8)
        guard Glibc.write(file.number, bytes, bytes.count) == bytes.count else {
            throw LinuxError("write \(path)", Errno(rawValue: errno))
        }
        return path
    }

    func read(_ name: String) -> String? { contents(of: self[name]).map { String(decoding: $0, as: UTF8.self) } }

    func exists(_ name: String) -> Bool { access(self[name], F_OK) == 0 }
}

/// A file's bytes; nil if it cannot be read.
///
/// Files in `/proc` have no size, so this reads until the end.
func contents(of path: String) -> [UInt8]? {
    guard let file = try? OwnedDescriptor(opening: path, flags: O_RDONLY | O_NONBLOCK) else { return nil }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = Glibc.read(file.number, &buffer, buffer.count)
        if count < 0 { return nil }
        if count == 0 { return bytes }
        bytes += buffer.prefix(count)
    }
}

/// The names in a directory, sorted; empty if it does not exist.
func names(in directory: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).sorted()
}
