// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux

/// How many descriptors watchdogd may have: an app costs about seven.
enum OpenFileLimit {
    /// Raises the soft limit to the hard one; ``previous`` is what apps get.
    static func raise() {
        guard let limit = previous, limit.soft < limit.hard else { return }
        try? ResourceLimit(.openFiles, soft: limit.hard, hard: limit.hard).apply()
    }

    /// The limit with which watchdogd was started.
    ///
    /// Programs that use select(2) rely on the soft limit, and do not work above 1,024.
    static let previous = try? ResourceLimit.current(.openFiles)
}
