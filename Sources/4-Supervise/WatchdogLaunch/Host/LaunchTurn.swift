// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux

/// Lets one launch begin in each turn of the loop, because many would make it long.
///
/// Isolation: the loop's thread.
package struct LaunchTurn {
    private let loop: EventLoop
    private var last: UInt64?

    init(_ loop: EventLoop) { self.loop = loop }

    /// Whether no launch has begun in this turn.
    package var isFree: Bool { loop.iteration != last }

    /// Whether a launch may begin: true once in a turn.
    package mutating func take() -> Bool {
        guard isFree else { return false }
        last = loop.iteration
        return true
    }
}
