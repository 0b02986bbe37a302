// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The process from which the processes of a ``Closer`` are forked: it has no rights, and affects no other process.
public struct CloserSource: Sendable {
    /// The socket through which processes are requested; the source ends with its last reference.
    let link: OwnedDescriptor
    /// The process, a child of this one.
    public let process: Int32
    /// The keeper of the program that this process executed before; nil if there is none.
    let keeper: OwnedDescriptor?

    /// Forks the source; call it before there is much memory to copy and any descriptor that a stranger made.
    public static func start() throws(LinuxError) -> CloserSource {
        var ends: [Int32] = [-1, -1]
        _ = try check("create a pair of sockets") { wd_socket_pair(&ends) }
        let ours = OwnedDescriptor(taking: ends[0])
        let theirs = OwnedDescriptor(taking: ends[1])
        let process = try check("create the process that closes") { wd_fork_closer_source(theirs.number) }
        return CloserSource(link: ours, process: process, keeper: nil)
    }

    private init(link: OwnedDescriptor, process: Int32, keeper: OwnedDescriptor?) {
        (self.link, self.process, self.keeper) = (link, process, keeper)
    }

    /// Takes over the source and the keeper of the program that this process executed before.
    ///
    /// - Parameter text: what ``Closer/handedOver`` was; nil if that program's keeper cannot serve this one.
    public init?(handedOver text: String) {
        let numbers = text.split(separator: " ").map { Int32($0) }
        guard numbers.count == 4, numbers[0] == Int32(WD_CLOSER_PROTOCOL), let link = numbers[1],
            let keeper = numbers[2], let process = numbers[3], link > STDERR_FILENO, keeper > STDERR_FILENO,
            link != keeper, fcntl(link, F_SETFD, FD_CLOEXEC) == 0, fcntl(keeper, F_SETFD, FD_CLOEXEC) == 0
        else { return nil }
        self.init(link: OwnedDescriptor(taking: link), process: process, keeper: OwnedDescriptor(taking: keeper))
    }
}

/// The processes that are forked from this one before it has threads and memory.
public struct ProcessSources: Sendable {
    /// See ``ExaminerSource``.
    public let examiner: ExaminerSource?
    /// See ``Closer``; nil only where no stranger can pass anything.
    public let closer: CloserSource?

    /// Collects sources.
    public init(examiner: ExaminerSource? = nil, closer: CloserSource? = nil) {
        self.examiner = examiner
        self.closer = closer
    }

    /// Forks both; call it on the main thread before any other thread exists.
    ///
    /// - Parameter closer: what the program left that this process executed before.
    public static func start(after closer: CloserSource? = nil) throws(LinuxError) -> ProcessSources {
        // One after another: neither may inherit the other's end.
        guard let examiner = ExaminerSource.start() else {
            throw LinuxError("create the process that reads memory", .current)
        }
        if let closer { return ProcessSources(examiner: examiner, closer: closer) }
        return ProcessSources(examiner: examiner, closer: try CloserSource.start())
    }
}
