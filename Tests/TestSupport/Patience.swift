// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// How long a test waits for an event before it fails: 120 s, times `WATCHDOGD_PATIENCE`.
///
/// Far longer than any operation takes on a starved machine. A passing test never waits this long.
public let patience: Duration = {
    let scale = ProcessInfo.processInfo.environment["WATCHDOGD_PATIENCE"].flatMap(Double.init) ?? 1
    return .seconds(120) * scale
}()

/// ``patience``, for poll(2).
public let patienceInMilliseconds = Int32(patience / .milliseconds(1))

/// Polls for a state that the kernel does not announce, such as one in `/proc`.
///
/// - Returns: Whether the condition held within ``patience``.
public func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
    let end = ContinuousClock.now + patience
    while true {
        if try condition() { return true }
        guard ContinuousClock.now < end else { return false }
        usleep(1000)
    }
}
