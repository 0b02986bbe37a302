// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux

/// The limit on watchdogd's descriptors.
enum OpenFileLimit {
    /// What a launch takes, plus room for clients that ask why nothing more can be launched.
    private static let reserve: Int32 = 16 + 32

    /// Raises the soft limit to the hard limit; apps inherit the launcher's.
    static func raise() {
        guard let limit = previous, limit.soft < limit.hard else { return }
        try? ResourceLimit(.openFiles, soft: limit.hard, hard: limit.hard).apply()
    }

    /// Makes the kernel extend its descriptor table to the length that ``checkRoom()`` needs.
    ///
    /// Call it before there is a second thread: with several threads the kernel waits for all CPUs, some 10 ms, which
    /// would delay the first launch (`expand_fdtable()` in fs/file.c).
    static func lengthenTable() {
        try? checkRoom()
    }

    /// Lowers the soft limit to its former value, for the program that this process is about to execute.
    static func lower() {
        try? previous?.apply()
    }

    /// Refuses a launch that would leave too few descriptors for the control socket.
    static func checkRoom() throws(LaunchRefusal) {
        guard let limit = try? ResourceLimit.current(.openFiles).soft else { return }
        let floor = max(Int32(clamping: limit) - reserve, 0)
        // The kernel assigns the lowest free number, so a number this high is taken only when those below it were. It
        // extends its table to the number, so a limit of a million is tried only when there are many descriptors.
        for wanted in [min(floor, 65_536), floor] {
            let number = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, wanted)
            if number >= 0 { close(number) }
            if number == wanted { return }
        }
        throw LaunchRefusal("too few of \(limit) file descriptors are left; raise LimitNOFILE of watchdogd")
    }

    /// The limit that watchdogd was started with.
    ///
    /// Programs that use select(2) rely on the soft limit, and fail above 1,024.
    static let previous = try? ResourceLimit.current(.openFiles)
}
