// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// The file of a report, of which only the first line has been read.
public struct StoredReport: Equatable, Sendable {
    /// The file's name.
    public let name: String
    /// The file's path.
    public let path: String
    /// The file's size in bytes.
    public let size: Int64
    /// When the file was last written.
    public let modified: WallTime
    /// The first line; nil when it cannot be read.
    public let metadata: ReportMetadata?
    /// Why the first line cannot be read.
    public let fault: String?
    /// True for a file in the store's folder, false for a path that the user named.
    package let isInStore: Bool

    /// Creates the entry of a file.
    package init(
        name: String, path: String, size: Int64, modified: WallTime, metadata: ReportMetadata?, fault: String?,
        isInStore: Bool
    ) {
        self.name = name
        self.path = path
        self.size = size
        self.modified = modified
        self.metadata = metadata
        self.fault = fault
        self.isInStore = isInStore
    }

    /// When the report was taken; when the file was written, if the report does not say.
    public var time: WallTime { metadata.flatMap { WallTime($0.timestamp) } ?? modified }
}
