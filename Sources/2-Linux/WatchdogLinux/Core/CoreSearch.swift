// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The search for the core file of a process that has exited.
///
/// The process may control the folder. Links are therefore not followed, and a file counts only if it is regular,
/// belongs to the process's user, and is newer than the process. Its contents must be distrusted.
public struct CoreSearch: Sendable {
    /// A file that may be the core.
    public struct Candidate: Sendable {
        /// The path of the file.
        public let path: String
        /// The file, open for reading.
        public let descriptor: OwnedDescriptor
        fileprivate let folder: OwnedDescriptor
        fileprivate let name: String
    }

    private static let entryLimit = 20_000
    private static let candidateLimit = 8

    /// The process ID.
    public var process: Int32
    /// The user that the process ran as.
    public var user: UInt32
    /// When it was launched, in seconds since 1970.
    public var launched: Int64
    /// Its possible working directories at its end, most likely first.
    public var directories: [String]

    /// Creates a search.
    public init(process: Int32, user: UInt32, launched: Int64, directories: [String]) {
        self.process = process
        self.user = user
        self.launched = launched
        self.directories = directories
    }

    /// The files that may be the core, most likely first.
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

    /// The folders to search.
    public func folders(_ name: CoreFileName) -> [String] {
        directories.compactMap { name.place(process: process, user: user, directory: $0)?.folder }
    }

    private func candidates(in path: String, _ pattern: CoreNamePattern) -> [Candidate] {
        guard let folder = try? OwnedDescriptor(opening: path, flags: O_RDONLY | O_DIRECTORY),
            let directory = folder.openDirectory()
        else { return [] }
        defer { closedir(directory) }
        var found: [(modified: Int64, candidate: Candidate)] = []
        for _ in 0..<Self.entryLimit {
            guard let entry = readdir(directory) else { break }
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard pattern.matches(name), let look = look(folder.number, name) else { continue }
            let candidate = Candidate(
                path: path.hasSuffix("/") ? path + name : "\(path)/\(name)", descriptor: look.descriptor,
                folder: folder, name: name)
            found.append((look.modified, candidate))
            // Keep the newest candidates, so that a large number of older files does not stay open.
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
            // The file system's clock may lag by one tick.
            Int64(status.st_mtim.tv_sec) + 1 >= launched
        else { return nil }
        return (Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec), descriptor)
    }
}

extension CoreSearch.Candidate {
    /// Removes the file from the folder in which it was found, unless its name now belongs to another one.
    ///
    /// unlinkat(2) takes a name, not an open file, so the name may change hands after the comparison. Only somebody who
    /// may remove names from this folder can do that, so nothing is lost that was safe from them. The folder is held by
    /// its descriptor: its path may lead to another one by now.
    public func remove() -> Bool {
        var here = stat()
        var there = stat()
        guard fstat(descriptor.number, &here) == 0,
            fstatat(folder.number, name, &there, AT_SYMLINK_NOFOLLOW) == 0, here.st_dev == there.st_dev,
            here.st_ino == there.st_ino
        else { return false }
        return unlinkat(folder.number, name, 0) == 0
    }
}
