// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A file descriptor that is closed when its last reference is released.
///
/// Isolation: immutable, may be shared between threads.
public final class OwnedDescriptor: Sendable {
    /// The descriptor's number; valid as long as this object lives.
    public let number: Int32
    private let closing: Closing

    /// Where the descriptor is closed.
    public enum Closing: Hashable, Sendable {
        /// On the thread that releases the last reference.
        case here
        /// Off the loop, on another thread: the file system decides how long close(2) takes.
        case beside
    }

    /// Takes ownership of an open descriptor; nobody else may close it from now on.
    public init(taking number: Int32, closing: Closing = .here) {
        precondition(number >= 0, "an owned descriptor must be open")
        self.number = number
        self.closing = closing
    }

    /// Duplicates a descriptor that somebody else owns; the duplicate is close-on-exec.
    public convenience init(duplicating number: Int32) throws(LinuxError) {
        let copy = try check("duplicate descriptor \(number)") { fcntl(number, F_DUPFD_CLOEXEC, 3) }
        self.init(taking: copy)
    }

    /// Opens a file; close-on-exec is added to the flags.
    ///
    /// - Parameters:
    ///   - path: The file's path.
    ///   - flags: As for `open`: `O_RDONLY`, `O_DIRECTORY`, ….
    ///   - mode: The permissions of a file that is created.
    ///   - isForeign: Whether closing the file may block on its file system.
    public convenience init(
        opening path: String, flags: Int32, mode: UInt32 = 0o600, isForeign: Bool = false
    ) throws(LinuxError) {
        let number = try check("open \(path)") { open(path, flags | O_CLOEXEC, mode) }
        self.init(taking: number, closing: isForeign ? .beside : .here)
    }

    /// Opens an existing file by its name in a directory; close-on-exec is added to the flags.
    public convenience init(opening name: String, in directory: OwnedDescriptor, flags: Int32) throws(LinuxError) {
        self.init(taking: try check("open \(name)") { openat(directory.number, name, flags | O_CLOEXEC) })
    }

    deinit {
        switch closing {
        // The number is free again even if close fails: close(2).
        case .here: close(number)
        case .beside: FileCloser.close(number)
        }
    }

    /// A pipe whose ends are close-on-exec and blocking.
    public static func pipe() throws(LinuxError) -> (read: OwnedDescriptor, write: OwnedDescriptor) {
        var ends: [Int32] = [-1, -1]
        _ = try check("create a pipe") { wd_pipe(&ends, 0) }
        return (OwnedDescriptor(taking: ends[0]), OwnedDescriptor(taking: ends[1]))
    }
}

extension OwnedDescriptor {
    /// A stream of the directory's entries, with a descriptor of its own, for closedir(3); nil with `errno` set.
    public func openDirectory() -> OpaquePointer? {
        let copy = fcntl(number, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { return nil }
        guard let stream = fdopendir(copy) else {
            close(copy)
            return nil
        }
        return stream
    }
}

/// Closes files that the configuration names, off the loop.
///
/// Every close of a file calls its file system, which may be one that no longer answers. Each file has its own lane, so
/// that one holds up no other. What strangers pass never comes here, but to a ``Closer``.
enum FileCloser {
    private static let threads = BlockingThreads(BlockingThreads.Limits(threads: 64, threadsPerLane: 1))

    /// Closes a descriptor, which nobody else closes, soon.
    static func close(_ number: Int32) {
        threads.run(in: Int(number), isRefusable: false) { Glibc.close(number) }
    }
}
