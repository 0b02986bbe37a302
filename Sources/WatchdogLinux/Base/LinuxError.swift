// SPDX-License-Identifier: Apache-2.0

/// A system call that failed: what was attempted, and the kernel's answer.
///
/// The description reads "cannot open /x: No such file or directory (ENOENT)".
public struct LinuxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What could not be done, to be read after "cannot": "open /x".
    public let operation: String
    /// The kernel's reason.
    public let errno: Errno

    /// Creates an error from what could not be done and the reason.
    public init(_ operation: String, _ errno: Errno) {
        self.operation = operation
        self.errno = errno
    }

    /// "cannot open /x: No such file or directory (ENOENT)".
    public var description: String {
        "cannot \(operation): \(errno)"
    }
}

/// The result of a system call that answers −1 and `errno`, repeated while a signal interrupts it.
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
