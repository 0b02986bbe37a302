// SPDX-License-Identifier: Apache-2.0

/// A report's file, of which only the first line has been read.
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
    /// True when the file is in the store's folder, false for a path that the user named.
    let isInStore: Bool

    /// When the report was taken; when the file was written, if it does not tell.
    public var time: WallTime { metadata.flatMap { WallTime($0.timestamp) } ?? modified }
}
