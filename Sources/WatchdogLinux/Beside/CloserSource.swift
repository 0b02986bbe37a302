// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The process from which the processes of a ``Closer`` are forked: it has no rights, and affects no other process.
public struct CloserSource: Sendable {
    /// The socket through which processes are requested; the source ends with its last reference.
    let link: OwnedDescriptor
    /// The process, a child of this one.
    public let process: Int32

    /// Forks the source; call it before there is much memory to copy and any descriptor that a stranger made.
    public static func start() throws(LinuxError) -> CloserSource {
        var ends: [Int32] = [-1, -1]
        _ = try check("create a pair of sockets") { wd_socket_pair(&ends) }
        let ours = OwnedDescriptor(taking: ends[0])
        let theirs = OwnedDescriptor(taking: ends[1])
        let process = try check("create the process that closes") { wd_fork_closer_source(theirs.number) }
        return CloserSource(link: ours, process: process)
    }
}

/// The processes that are forked from this one before it has threads and memory.
public struct ProcessSources: Sendable {
    /// See ``ExaminerSource``.
    public let examiner: OwnedDescriptor?
    /// See ``Closer``; nil only where no stranger can pass anything.
    public let closer: CloserSource?

    /// Collects sources.
    public init(examiner: OwnedDescriptor? = nil, closer: CloserSource? = nil) {
        self.examiner = examiner
        self.closer = closer
    }

    /// Forks both; call it on the main thread before any other thread exists.
    public static func start() throws(LinuxError) -> ProcessSources {
        // One after another: neither may inherit the other's end.
        ProcessSources(examiner: ExaminerSource.start(), closer: try CloserSource.start())
    }
}
