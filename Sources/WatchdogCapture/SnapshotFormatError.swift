// SPDX-License-Identifier: Apache-2.0

/// Why bytes are no snapshot.
public struct SnapshotFormatError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Kinds of fault.
    public enum Code: Sendable, Equatable {
        /// The descriptor could not be read.
        case unreadable
        /// More bytes than any snapshot has.
        case tooLarge
        /// Not a snapshot, or of another version.
        case notASnapshot
        /// A record or field reaches beyond the end of what holds it.
        case truncated
        /// More of something than the format allows.
        case tooMany
        /// A value that makes no sense.
        case malformed
    }

    /// The kind of fault.
    public var code: Code
    /// What is at fault.
    public var subject: String
    /// Offset of the record at fault, in bytes from the start.
    public var offset: Int

    /// "snapshot, record at byte 16: thread: truncated".
    public var description: String { "snapshot, record at byte \(offset): \(subject): \(code)" }
}
