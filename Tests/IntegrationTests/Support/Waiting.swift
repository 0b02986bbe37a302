// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux

/// Longer than anything here takes on a busy machine, so that a broken test ends.
let patience = Duration.seconds(30)

/// Something that did not happen in time, or not at all.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

extension Duration {
    /// For poll(2), rounded up.
    var milliseconds: Int32 { Int32(clamping: (max(0, nanoseconds) + 999_999) / 1_000_000) }

    var seconds: Double { Double(nanoseconds) / 1e9 }
}

/// Looks again and again for what the kernel announces to nobody, such as a state in `/proc`.
func eventually(within limit: Duration = patience, _ condition: () throws -> Bool) rethrows -> Bool {
    let deadline = Instant.now() + limit
    while true {
        if try condition() { return true }
        guard Instant.now() < deadline else { return false }
        poll(nil, 0, 5)
    }
}
