// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// Finds the Debian package that contains a file, in dpkg's database.
///
/// Reads at most 128 MiB, and rereads only after a change of the database.
///
/// Isolation: may be used from any thread. Every call may block on the disk.
public final class DebianPackages: Sendable {
    /// A package that contains a file.
    public struct Package: Equatable, Sendable {
        /// Its name, without the architecture.
        public var name: String
        /// Its version.
        public var version: String
    }

    private struct Cache {
        /// The modification time of the database, in nanoseconds.
        var time: Int64 = 0
        var packages: [String: Package?] = [:]
    }

    private static let cacheLimit = 1_024
    private static let listLimit = 20_000
    private static let fileLimit = 64 << 20
    private static let totalLimit = 128 << 20

    private let folder: String
    private let cache = Mutex(Cache())

    /// Creates a reader, which reads nothing before the first search.
    public init(folder: String = "/var/lib/dpkg") {
        self.folder = folder
    }

    /// The package that contains a file; nil if none does.
    public func package(of path: String) -> Package? {
        guard path.hasPrefix("/"), !path.contains("\n") else { return nil }
        var status = stat()
        guard stat("\(folder)/status", &status) == 0 else { return nil }
        let time = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
        let known: Package?? = cache.withLock { cache in
            if cache.time != time || cache.packages.count > Self.cacheLimit { cache = Cache(time: time) }
            return cache.packages[path]
        }
        if let known { return known }
        let found = find(path)
        cache.withLock { if $0.time == time { $0.packages[path] = .some(found) } }
        return found
    }

    private func find(_ path: String) -> Package? {
        // If /bin is a link to /usr/bin, packages may list either path.
        let paths = path.hasPrefix("/usr/") ? [path, String(path.dropFirst(4))] : [path]
        let lines = paths.map { "\n\($0)\n" }
        var total = 0
        for list in lists() {
            guard let bytes = Self.read("\(folder)/info/\(list)"), total <= Self.totalLimit else { return nil }
            total += bytes.count
            guard lines.contains(where: { Self.find($0, in: bytes) != nil }) else { continue }
            let name = String(list.dropLast(".list".count).prefix { $0 != ":" })
            return version(of: name).map { Package(name: name, version: $0) }
        }
        return nil
    }

    private func lists() -> [String] {
        guard let directory = opendir("\(folder)/info") else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while names.count < Self.listLimit, let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasSuffix(".list") { names.append(name) }
        }
        return names
    }

    private func version(of package: String) -> String? {
        guard let status = Self.read("\(folder)/status"),
            let start = Self.find("\nPackage: \(package)\n", in: status)
        else { return nil }
        let rest = status[(start + 1)...].prefix(64 << 10) + [0]
        let stanza = Array(rest[..<(rest.startIndex + (Self.find("\n\n", in: Array(rest)) ?? rest.count - 1))]) + [0]
        let key = "\nVersion: "
        guard let version = Self.find(key, in: stanza) else { return nil }
        let text = stanza[(version + key.utf8.count)...].prefix { $0 != UInt8(ascii: "\n") && $0 != 0 }
        return String(decoding: text.prefix(128), as: UTF8.self)
    }

    /// The file with a leading line break, so that searches also match its first line, and a trailing 0; nil if it is
    /// too large or unreadable.
    private static func read(_ path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= fileLimit else {
            return nil
        }
        let size = Int(status.st_size)
        return [UInt8](unsafeUninitializedCapacity: size + 2) { buffer, count in
            buffer[0] = UInt8(ascii: "\n")
            count = 1
            while count <= size {
                let length = Glibc.read(file, buffer.baseAddress?.advanced(by: count), size + 1 - count)
                if length < 0, errno == EINTR { continue }
                guard length > 0 else { break }
                count += length
            }
            buffer[count] = 0
            count += 1
        }
    }

    /// The index of a text in 0-terminated bytes; the search stops at the first 0.
    private static func find(_ needle: String, in bytes: [UInt8]) -> Int? {
        bytes.withUnsafeBytes { haystack in
            guard haystack.last == 0, let start = haystack.baseAddress?.assumingMemoryBound(to: CChar.self),
                let found = strstr(start, needle)
            else { return nil }
            return UnsafePointer(found) - start
        }
    }
}
