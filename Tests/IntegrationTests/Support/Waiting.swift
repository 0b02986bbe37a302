// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import WatchdogBase
import WatchdogLinux

/// Longer than any operation here takes on a starved machine, so that a broken test ends.
let patience = TestSupport.patience

/// Options of `watchdogd run` that give a healthy program enough time even on a starved machine.
///
/// Each allowance that they do not set is far longer than ``patience``.
func unhurried(_ options: [String] = []) -> [String] {
    ["--launch", "--update", "--terminate"].filter { !options.contains($0) }.flatMap { [$0, "1h"] } + options
}

/// The same for the file of an app, which may override some of them below.
let unhurriedSettings = "[Watchdog]\nLaunch=1h\nUpdate=1h\nTerminate=1h\n"

/// An event that did not happen in time, or at all.
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

/// Polls for a state that the kernel does not announce, such as one in `/proc`.
func eventually(within limit: Duration = patience, _ condition: () throws -> Bool) rethrows -> Bool {
    let deadline = Instant.now() + limit
    while true {
        if try condition() { return true }
        guard Instant.now() < deadline else { return false }
        poll(nil, 0, 5)
    }
}
