// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The process from which the processes of a ``Closer`` are forked: it has no rights, and affects no other process.
public struct CloserSource: Sendable {
    /// The socket through which processes are requested; the source ends with its last reference.
    let link: OwnedDescriptor
    /// The process, a child of this one; nil if the program that this process executed before has lost it.
    let process: Pidfd?
    /// The keeper of the program that this process executed before; nil if there is none.
    let keeper: OwnedDescriptor?

    /// Forks the source; call it before there is much memory to copy and any descriptor that a stranger made.
    public static func start() throws(LinuxError) -> CloserSource {
        var ends: [Int32] = [-1, -1]
        _ = try check("create a pair of sockets") { wd_socket_pair(&ends) }
        let ours = OwnedDescriptor(taking: ends[0])
        let theirs = OwnedDescriptor(taking: ends[1])
        let process = try check("create the process that closes") { wd_fork_closer_source(theirs.number) }
        return CloserSource(link: ours, process: try Pidfd(opening: process), keeper: nil)
    }

    private init(link: OwnedDescriptor, process: Pidfd?, keeper: OwnedDescriptor?) {
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
        let source = try? Pidfd(opening: process)
        // The earlier program may have reaped it, and its ID may be that of an app.
        let isOurs = ProcessStat.read(process).map { $0.name == "wd-closer" && $0.parent == getpid() } ?? false
        self.init(
            link: OwnedDescriptor(taking: link), process: isOurs ? source : nil,
            keeper: OwnedDescriptor(taking: keeper))
    }
}
