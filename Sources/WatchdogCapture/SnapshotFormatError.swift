// SPDX-License-Identifier: Apache-2.0

/// Why bytes are not a valid snapshot.
public struct SnapshotFormatError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of errors.
    public enum Code: Sendable, Equatable {
        /// The descriptor could not be read.
        case unreadable
        /// More bytes than any snapshot has.
        case tooLarge
        /// Not a snapshot, or a different version.
        case notASnapshot
        /// A record or field extends beyond the end of its container.
        case truncated
        /// More items than the format allows.
        case tooMany
        /// A value that is invalid.
        case malformed
    }

    /// The kind of error.
    public var code: Code
    /// The part with the error.
    public var subject: String
    /// The offset of the record with the error, in bytes from the start.
    public var offset: Int

    /// "snapshot, record at byte 16: thread: truncated".
    public var description: String { "snapshot, record at byte \(offset): \(subject): \(code)" }
}
