// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The captures that are stopping processes now, each until it ends or exceeds its budget.
///
/// A stuck capture may never end; its thread is replaced, and nobody waits for it anymore.
struct CaptureCount {
    private var deadlines: [Int: Instant] = [:]
    private var lastNumber = 0

    /// Whether no capture is in progress.
    var isEmpty: Bool { deadlines.isEmpty }

    /// Counts a capture until ``end(_:)`` or `deadline`; returns its number.
    mutating func begin(until deadline: Instant) -> Int {
        lastNumber += 1
        deadlines[lastNumber] = deadline
        return lastNumber
    }

    mutating func end(_ number: Int) { deadlines[number] = nil }

    /// Removes the captures that have exceeded their budgets; returns whether there were any.
    mutating func expire(at now: Instant) -> Bool {
        let count = deadlines.count
        deadlines = deadlines.filter { $0.value > now }
        return deadlines.count < count
    }
}
