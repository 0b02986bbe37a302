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

    /// Refuses a launch that would leave the daemon without descriptors for its control socket.
    static func checkRoom() throws(LaunchRefusal) {
        guard let limit = try? ResourceLimit.current(.openFiles).soft else { return }
        // The kernel gives the lowest free number: all below are taken.
        let lowest = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)
        if lowest >= 0 { close(lowest) }
        guard lowest >= 0, UInt64(lowest) + UInt64(reserve) <= limit else {
            throw LaunchRefusal("too few descriptors are left of \(limit); raise LimitNOFILE of watchdogd")
        }
    }

    /// The limit with which watchdogd was started.
    ///
    /// Programs that use select(2) rely on the soft limit, and do not work above 1,024.
    static let previous = try? ResourceLimit.current(.openFiles)
}
