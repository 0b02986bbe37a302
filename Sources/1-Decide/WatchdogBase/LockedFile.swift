// SPDX-License-Identifier: Apache-2.0

/// A file on which a process of an app holds a lock.
public struct LockedFile: Hashable, Sendable, Codable {
    /// How it is locked.
    public enum Kind: String, Hashable, Sendable, Codable, CaseIterable {
        /// flock(2).
        case flock = "flock"
        /// `F_SETLK` of fcntl(2), owned by the process.
        case process = "fcntl"
        /// `F_OFD_SETLK` of fcntl(2), owned by the open file description.
        case openFile = "fcntl (open file)"
        /// A byte range that SQLite uses to lock its databases.
        case sqlite = "SQLite"
    }

    /// The path of the file, or its number if the path is unknown.
    public let path: String
    /// How it is locked.
    public let kind: Kind
    /// Whether the lock keeps everyone else from reading the file.
    public let isExclusive: Bool
    /// The process that holds the lock.
    public let process: Int32

    private enum CodingKeys: String, CodingKey { case path, kind, isExclusive, process }

    /// Creates a locked file.
    public init(path: String, kind: Kind, isExclusive: Bool, process: Int32) {
        self.path = path
        self.kind = kind
        self.isExclusive = isExclusive
        self.process = process
    }
}
