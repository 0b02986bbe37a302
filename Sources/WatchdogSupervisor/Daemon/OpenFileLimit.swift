// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux

/// How many descriptors watchdogd may have.
enum OpenFileLimit {
    /// What a launch takes, and what is left for those who ask why there is no further launch.
    private static let reserve: Int32 = 16 + 32

    /// Raises the soft limit to the hard one; ``previous`` is what apps get.
    static func raise() {
        guard let limit = previous, limit.soft < limit.hard else { return }
        try? ResourceLimit(.openFiles, soft: limit.hard, hard: limit.hard).apply()
    }

    /// Has the kernel make its table of descriptors as long as ``checkRoom()`` wants it.
    ///
    /// To be called before there is a second thread: with several the kernel waits for all CPUs, some 10 ms, which the first
    /// launch would take longer (`expand_fdtable()` in fs/file.c).
    static func lengthenTable() {
        try? checkRoom()
    }

    /// Sets the limit back, for the program that is about to be executed in this process.
    static func restore() {
        try? previous?.apply()
    }

    /// Sets the limit back for a program that is to be started, unless it has one of its own.
    static func restore(in request: inout SpawnRequest) {
        guard let previous, !request.limits.contains(where: { $0.resource == .openFiles }) else { return }
        request.limits.append(previous)
    }

    /// Refuses a launch that would leave the daemon without descriptors for its control socket.
    static func checkRoom() throws(LaunchRefusal) {
        guard let limit = try? ResourceLimit.current(.openFiles).soft else { return }
        let floor = max(Int32(clamping: limit) - reserve, 0)
        // The kernel gives the lowest free number, so that one so high is taken only when those below were. It makes its table
        // as long as the number: a limit of a million is not asked for before there are many.
        for wanted in [min(floor, 65_536), floor] {
            let number = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, wanted)
            if number >= 0 { close(number) }
            if number == wanted { return }
        }
        throw LaunchRefusal("too few descriptors are left of \(limit); raise LimitNOFILE of watchdogd")
    }

    /// The limit with which watchdogd was started.
    ///
    /// Programs that use select(2) rely on the soft limit, and do not work above 1,024.
    static let previous = try? ResourceLimit.current(.openFiles)
}
