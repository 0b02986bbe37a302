// SPDX-License-Identifier: Apache-2.0

import Glibc

/// How long the machine has been suspended since boot.
public enum SuspendedTime {
    /// `CLOCK_BOOTTIME` − `CLOCK_MONOTONIC`: grows by the length of each suspension and by nothing else.
    ///
    /// Exact to the time between two clock readings; a growth of milliseconds is a suspension.
    public static func now() -> Duration {
        let before = readNanoseconds(of: CLOCK_MONOTONIC)
        let boot = readNanoseconds(of: CLOCK_BOOTTIME)
        let after = readNanoseconds(of: CLOCK_MONOTONIC)
        return .nanoseconds(boot - (before + (after - before) / 2))
    }
}
