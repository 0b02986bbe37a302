// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The search for the core file of a process that has ended.
///
/// The folder may be one in which the process can do as it likes: links are not followed, and only a regular file counts
/// that is the process's own and younger than the process. What is in it has to be distrusted.
public struct CoreSearch: Sendable {
    /// A file that may be the one.
    public struct Candidate: Sendable {
        /// Its path.
        public let path: String
        /// The file, open for reading.
        public let descriptor: OwnedDescriptor
    }

    private static let entryLimit = 20_000
    private static let candidateLimit = 8

    /// The process.
    public var process: Int32
    /// Whose rights it had.
    public var user: UInt32
    /// Seconds since 1970 at its launch.
    public var launched: Int64
    /// Where it may have been when it ended, likeliest first.
    public var directories: [String]

    /// Creates a search.
    public init(process: Int32, user: UInt32, launched: Int64, directories: [String]) {
        self.process = process
        self.user = user
        self.launched = launched
        self.directories = directories
    }

    /// The files that may be the core, likeliest first.
    public func candidates(_ name: CoreFileName) -> [Candidate] {
        var folders: [String] = []
        var found: [Candidate] = []
        for directory in directories {
            guard let place = name.place(process: process, user: user, directory: directory),
                !folders.contains(place.folder)
            else { continue }
            folders.append(place.folder)
            found += candidates(in: place.folder, place.name)
        }
        return Array(found.prefix(Self.candidateLimit))
    }

    /// The folders that are looked into.
    public func folders(_ name: CoreFileName) -> [String] {
        directories.compactMap { name.place(process: process, user: user, directory: $0)?.folder }
    }

    private func candidates(in folder: String, _ pattern: CoreNamePattern) -> [Candidate] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var found: [(modified: Int64, candidate: Candidate)] = []
        for _ in 0..<Self.entryLimit {
            guard let entry = readdir(directory) else { break }
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard pattern.matches(name), let look = look(dirfd(directory), name) else { continue }
            let path = folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
            found.append((look.modified, Candidate(path: path, descriptor: look.descriptor)))
            // The youngest count: a crowd of older ones is closed again.
            if found.count > 4 * Self.candidateLimit { found = Self.youngest(found) }
        }
        return Self.youngest(found).map(\.candidate)
    }

    private static func youngest(
        _ found: [(modified: Int64, candidate: Candidate)]
    ) -> [(modified: Int64, candidate: Candidate)] {
        Array(found.sorted { $0.modified > $1.modified }.prefix(candidateLimit))
    }

    private func look(_ folder: Int32, _ name: String) -> (modified: Int64, descriptor: OwnedDescriptor)? {
        guard let descriptor = try? OwnedDescriptor.regularFile(at: ByteString(name), beneath: folder) else {
            return nil
        }
        var status = stat()
        guard fstat(descriptor.number, &status) == 0, status.st_nlink == 1,
            status.st_uid == user || status.st_uid == 0, status.st_size > 0,
            // The file system's clock may be a tick behind.
            Int64(status.st_mtim.tv_sec) + 1 >= launched
        else { return nil }
        return (Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec), descriptor)
    }
}

extension CoreSearch.Candidate {
    /// Removes the file, unless another one has its name by now.
    public func remove() -> Bool {
        var here = stat()
        var there = stat()
        guard fstat(descriptor.number, &here) == 0, lstat(path, &there) == 0, here.st_dev == there.st_dev,
            here.st_ino == there.st_ino
        else { return false }
        return unlink(path) == 0
    }
}
