// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
public import WatchdogLinux

/// The reason why no snapshot could be taken.
///
/// The description reads "cannot list the threads of process 7: No such process (ESRCH)".
public struct SnapshotError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The failed operation, worded to fit between "cannot" and "of process 7".
    public let operation: String
    /// The process to be captured; nil for an error within this process.
    public let process: Int32?
    /// The error of the failed system call.
    public let errno: Errno
    /// The effect of the failed capture on the process.
    public let end: SnapshotEnd
    /// The reason why the capture was not attempted; nil if it was.
    private let refusal: StuckWaits.Refusal?

    init(_ operation: String, of process: Int32?, _ errno: Errno, end: SnapshotEnd = .untouched) {
        self.operation = operation
        self.process = process
        self.errno = errno
        self.end = end
        refusal = nil
    }

    /// The error of a snapshot that is not attempted.
    init(refusing process: Int32, _ refusal: StuckWaits.Refusal) {
        operation = "take a snapshot"
        self.process = process
        errno = Errno(rawValue: EDEADLK)
        end = .untouched
        self.refusal = refusal
    }

    /// "cannot list the threads of process 7: No such process (ESRCH)", or the reason why nothing was attempted.
    public var description: String {
        if let refusal { return refusal.words("capture") }
        return "cannot \(operation)" + (process.map { " of process \($0)" } ?? "") + ": \(errno)"
    }
}

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
