// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// One event that an ``AppMachine`` handles: when it came, and what it leads to so far.
struct AppStep {
    let now: Instant
    var effects: [AppEffect] = []

    mutating func add(_ effects: AppEffect...) { self.effects += effects }
}
