// SPDX-License-Identifier: Apache-2.0

/// A system call that failed: what was attempted, and the kernel's answer.
///
/// The description reads "cannot open /x: No such file or directory (ENOENT)".
public struct LinuxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The failed operation, worded to follow "cannot": "open /x".
    public let operation: String
    /// The kernel's reason.
    public let errno: Errno

    /// Creates an error from an operation and a reason.
    public init(_ operation: String, _ errno: Errno) {
        self.operation = operation
        self.errno = errno
    }

    /// "cannot open /x: No such file or directory (ENOENT)".
    public var description: String {
        "cannot \(operation): \(errno)"
    }
}

/// The result of a system call that reports errors as −1 and `errno`; retried when interrupted by a signal.
func check<Value: SignedInteger>(
    _ operation: @autoclosure () -> String,
    _ call: () -> Value
) throws(LinuxError) -> Value {
    while true {
        let result = call()
        if result != -1 { return result }
        let error = Errno.current
        if error != .interrupted { throw LinuxError(operation(), error) }
    }
}
