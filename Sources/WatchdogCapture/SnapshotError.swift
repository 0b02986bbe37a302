// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Why no snapshot could be taken.
public struct SnapshotError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The system's error number.
    public var errno: Int32
    /// What failed, as in "cannot OPERATION".
    public var operation: String
    /// The process that was to be captured.
    public var process: Int32
    /// What became of the process all the same.
    public var end: SnapshotEnd

    /// Creates an error from its parts.
    public init(errno: Int32, operation: String, process: Int32, end: SnapshotEnd = .untouched) {
        self.errno = errno
        self.operation = operation
        self.process = process
        self.end = end
    }

    /// "cannot list the threads of process 7: No such process (3)".
    public var description: String {
        "cannot \(operation) of process \(process): \(String(cString: strerror(errno))) (\(errno))"
    }
}
