// SPDX-License-Identifier: Apache-2.0

/// One line of `/proc/PID/maps`.
public struct SnapshotMapping: Sendable, Equatable {
    /// The first address.
    public var start: UInt64
    /// The first address after the mapping.
    public var end: UInt64
    /// Whether it may be read.
    public var isReadable: Bool
    /// Whether it may be written.
    public var isWritable: Bool
    /// Whether it may be executed.
    public var isExecutable: Bool
    /// The offset of ``start`` in the file.
    public var offset: UInt64
    /// The major number of the file's device.
    public var deviceMajor: UInt32
    /// The minor number of the file's device.
    public var deviceMinor: UInt32
    /// The file's inode; 0 if no file is mapped.
    public var inode: UInt64
    /// The path as the kernel writes it, a name in brackets, or an empty string.
    public var path: String

    /// Whether a file is mapped.
    public var isFile: Bool { inode != 0 && path.hasPrefix("/") }
}
