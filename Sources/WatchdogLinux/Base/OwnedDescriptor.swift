// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A file descriptor that is closed when the last reference to it goes.
///
/// Isolation: immutable, may be shared between threads.
public final class OwnedDescriptor: Sendable {
    /// The descriptor's number; valid as long as this object lives.
    public let number: Int32

    /// Takes over an open descriptor; nobody else may close it from now on.
    public init(taking number: Int32) {
        precondition(number >= 0, "an owned descriptor must be open")
        self.number = number
    }

    /// Duplicates a descriptor that belongs to somebody else; the duplicate is close-on-exec.
    public convenience init(duplicating number: Int32) throws(LinuxError) {
        let copy = try check("duplicate descriptor \(number)") { fcntl(number, F_DUPFD_CLOEXEC, 3) }
        self.init(taking: copy)
    }

    /// Opens a file; close-on-exec is added to the flags.
    ///
    /// - Parameters:
    ///   - path: The file's path.
    ///   - flags: As for `open`: `O_RDONLY`, `O_DIRECTORY`, ….
    ///   - mode: Permissions of a file that is created.
    public convenience init(opening path: String, flags: Int32, mode: UInt32 = 0o600) throws(LinuxError) {
        let number = try check("open \(path)") { open(path, flags | O_CLOEXEC, mode) }
        self.init(taking: number)
    }

    /// Opens a file that is there by its name in a directory; close-on-exec is added to the flags.
    public convenience init(opening name: String, in directory: OwnedDescriptor, flags: Int32) throws(LinuxError) {
        self.init(taking: try check("open \(name)") { openat(directory.number, name, flags | O_CLOEXEC) })
    }

    deinit {
        // The number is free again even when close fails: close(2).
        close(number)
    }

    /// A pipe whose ends are close-on-exec and blocking.
    public static func pipe() throws(LinuxError) -> (read: OwnedDescriptor, write: OwnedDescriptor) {
        var ends: [Int32] = [-1, -1]
        _ = try check("create a pipe") { wd_pipe(&ends, 0) }
        return (OwnedDescriptor(taking: ends[0]), OwnedDescriptor(taking: ends[1]))
    }
}
