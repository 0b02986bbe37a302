// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// A stored report whose first line was read: a file, or a field of a journal entry.
public struct StoredReport: Equatable, Sendable {
    /// The journal entry with a report.
    public struct Entry: Hashable, Sendable {
        /// The cursor, which identifies the entry.
        public let cursor: String
        /// The user ID of the sender, as journald recorded it.
        public let user: UInt32
        /// The path of the report on that machine; nil if no file was written.
        public let path: String?
        /// The reason why the entry does not contain the report; nil if it does.
        public let omission: String?

        package init(cursor: String, user: UInt32, path: String?, omission: String? = nil) {
            self.cursor = cursor
            self.user = user
            self.path = path
            self.omission = omission
        }
    }

    /// The file's name.
    public let name: String
    /// The file's path, or a description of the entry.
    public let path: String
    /// The file's size in bytes.
    public let size: Int64
    /// The time of the file's last modification.
    public let modified: WallTime
    /// The first line; nil if it cannot be read.
    public let metadata: ReportMetadata?
    /// The reason why the first line cannot be read.
    public let fault: String?
    /// The host, if known from the entry or the folder's name.
    public let host: String?
    /// The journal entry; nil for a file.
    public let entry: Entry?
    /// True for a file in the store's folder or a subfolder, false for a path that the user named.
    package let isInStore: Bool

    package init(
        name: String, path: String, size: Int64, modified: WallTime, metadata: ReportMetadata?, fault: String?,
        isInStore: Bool, host: String? = nil, entry: Entry? = nil
    ) {
        self.name = name
        self.path = path
        self.size = size
        self.modified = modified
        self.metadata = metadata
        self.fault = fault
        self.isInStore = isInStore
        self.host = host
        self.entry = entry
    }

    /// The time of the report, or else of the file's last modification.
    public var time: WallTime { metadata.flatMap { WallTime($0.timestamp) } ?? modified }
}
