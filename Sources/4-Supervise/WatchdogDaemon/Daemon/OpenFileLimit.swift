// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLaunch
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
        guard let limit = try? ResourceLimit.current(.openFiles).soft, !hasRoom(below: Int32(clamping: limit)) else {
            return
        }
        throw LaunchRefusal("too few of \(limit) file descriptors are left; raise LimitNOFILE of watchdogd")
    }

    /// Whether as many descriptors as a launch takes are free below a limit.
    static func hasRoom(below limit: Int32) -> Bool {
        let floor = max(limit - reserve, 0)
        // The kernel assigns the lowest free number, so a number this high is mostly taken only when those below it are.
        // It extends its table to the number, so a limit of a million is tried only when there are many descriptors.
        for wanted in [min(floor, 65_536), floor] {
            let number = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, wanted)
            if number >= 0 { close(number) }
            if number == wanted { return true }
        }
        // What was opened in a crowd keeps its number when the crowd is gone, and must not end all launches.
        return openCount(below: limit).map { limit - $0 >= reserve } ?? false
    }

    /// How many descriptors are open; nil if counting them takes too long.
    private static func openCount(below limit: Int32) -> Int32? {
        var information = stat()
        // Linux 6.2 and later tell the count as the folder's size.
        if stat("/proc/self/fd", &information) == 0, information.st_size > 0 {
            return Int32(clamping: information.st_size)
        }
        guard limit <= 16_384 else { return nil }
        return (0..<limit).reduce(0) { fcntl($1, F_GETFD) >= 0 ? $0 + 1 : $0 }
    }

    /// The limit that watchdogd was started with.
    ///
    /// Programs that use select(2) rely on the soft limit, and fail above 1,024.
    static let previous = try? ResourceLimit.current(.openFiles)
}
