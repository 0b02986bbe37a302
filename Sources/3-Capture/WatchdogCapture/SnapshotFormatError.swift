// SPDX-License-Identifier: Apache-2.0

/// The reason why bytes are not a valid snapshot.
public struct SnapshotFormatError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of errors.
    public enum Code: Sendable, Equatable {
        /// The descriptor could not be read.
        case unreadable
        /// The file is larger than any snapshot.
        case tooLarge
        /// The file is not a snapshot, or one of a different version.
        case notASnapshot
        /// A record or field extends beyond the end of its container.
        case truncated
        /// The number of items exceeds a limit of the format.
        case tooMany
        /// A value is invalid.
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
