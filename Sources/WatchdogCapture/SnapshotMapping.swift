// SPDX-License-Identifier: Apache-2.0

/// One line of `/proc/PID/maps`.
public struct SnapshotMapping: Sendable, Equatable {
    /// First address.
    public var start: UInt64
    /// First address after it.
    public var end: UInt64
    /// True when it may be read.
    public var isReadable: Bool
    /// True when it may be written.
    public var isWritable: Bool
    /// True when it may be executed.
    public var isExecutable: Bool
    /// Offset of ``start`` in the file.
    public var offset: UInt64
    /// Major number of the file's device.
    public var deviceMajor: UInt32
    /// Minor number of the file's device.
    public var deviceMinor: UInt32
    /// The file's inode; 0 when no file is mapped.
    public var inode: UInt64
    /// The path as the kernel writes it, a name in brackets, or an empty string.
    public var path: String

    /// True when a file is mapped.
    public var isFile: Bool { inode != 0 && path.hasPrefix("/") }
}
