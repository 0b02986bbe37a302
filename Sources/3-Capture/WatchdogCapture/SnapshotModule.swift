// SPDX-License-Identifier: Apache-2.0

/// A mapped executable file.
public struct SnapshotModule: Sendable, Equatable {
    /// The first address of the file's mappings.
    public var start: UInt64
    /// Index into ``Snapshot/modules``; nil if the file could not be opened.
    public var descriptor: Int?
    /// The path as in `/proc/PID/maps`.
    public var path: String
}
