// SPDX-License-Identifier: Apache-2.0

public import WatchdogLinux

/// Why no snapshot could be taken.
///
/// The description reads "cannot list the threads of process 7: No such process (ESRCH)".
public struct SnapshotError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The failed operation, worded to fit between "cannot" and "of process 7".
    public let operation: String
    /// The process to be captured; nil for an error within this process.
    public let process: Int32?
    /// The kernel's reason.
    public let errno: Errno
    /// What happened to the process nevertheless.
    public let end: SnapshotEnd

    init(_ operation: String, of process: Int32?, _ errno: Errno, end: SnapshotEnd = .untouched) {
        self.operation = operation
        self.process = process
        self.errno = errno
        self.end = end
    }

    /// "cannot list the threads of process 7: No such process (ESRCH)".
    public var description: String {
        "cannot \(operation)" + (process.map { " of process \($0)" } ?? "") + ": \(errno)"
    }
}
