// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A hang of the main loop, injected by a test.
///
/// The name appears in the crash log's stack, so that readers do not search the app's code for the hang.
enum HangOnDemand {
    /// Blocks the calling thread, which serves the main loop.
    @inline(never)
    static func block(for duration: Duration) {
        let (seconds, attoseconds) = duration.components
        var end = timespec()
        clock_gettime(CLOCK_MONOTONIC, &end)
        // A year is practically forever, and cannot overflow `tv_sec`.
        end.tv_sec += Int(min(seconds, 31_536_000))
        end.tv_nsec += Int(attoseconds / 1_000_000_000)
        if end.tv_nsec >= 1_000_000_000 { (end.tv_sec, end.tv_nsec) = (end.tv_sec + 1, end.tv_nsec - 1_000_000_000) }
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nil) == EINTR {}
    }
}
