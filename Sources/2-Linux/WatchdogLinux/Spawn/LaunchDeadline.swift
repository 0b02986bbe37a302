// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// When a launch is given up: after its limit, or later while nothing but a CPU is missing.
struct LaunchDeadline: Hashable, Sendable {
    /// How many times its limit a launch may take that only waits for a CPU.
    private static let mostLimits = 12

    private let limit: Duration
    private let last: Instant
    /// When to look at the launch next.
    private(set) var at: Instant

    /// Begins a launch.
    init(_ limit: Duration, from start: Instant) {
        self.limit = limit
        at = start + limit
        last = start + limit * Self.mostLimits
    }

    /// Whether the launch is to be given up; if not, the deadline may have moved.
    ///
    /// - Parameter awaitsCPU: whether nothing but a CPU is missing; asked only when it matters.
    mutating func isOver(at now: Instant, awaitsCPU: @autoclosure () -> Bool) -> Bool {
        guard now >= at else { return false }
        guard now < last, awaitsCPU() else { return true }
        at = min(now + limit, last)
        return false
    }

    /// Gives the launch its whole limit from now on, but no more time in all: it has waited for watchdogd.
    mutating func restart(at now: Instant) {
        at = min(max(at, now + limit), last)
    }
}
