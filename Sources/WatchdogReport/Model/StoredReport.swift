// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// A stored report whose first line was read: a file, or a field of a journal entry.
public struct StoredReport: Equatable, Sendable {
    /// The journal entry that carries a report.
    public struct Entry: Hashable, Sendable {
        /// What identifies the entry.
        public let cursor: String
        /// The user who sent it, as journald recorded.
        public let user: UInt32
        /// Where the report was written on that machine; nil if it was not.
        public let path: String?
        /// Why the entry does not carry the report; nil if it does.
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
    /// The file's path, or words for the entry.
    public let path: String
    /// The file's size in bytes.
    public let size: Int64
    /// When the file was last written.
    public let modified: WallTime
    /// The first line; nil when it cannot be read.
    public let metadata: ReportMetadata?
    /// Why the first line cannot be read.
    public let fault: String?
    /// The host, if the place says which: the entry, or the folder of a host's reports.
    public let host: String?
    /// The journal entry; nil for a file.
    public let entry: Entry?
    /// True for a file in the store's folder or a subfolder, false for a path that the user named.
    package let isInStore: Bool

    /// Creates the entry of a file.
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

    /// When the report was taken; when the file was written, if the report does not say.
    public var time: WallTime { metadata.flatMap { WallTime($0.timestamp) } ?? modified }
}
