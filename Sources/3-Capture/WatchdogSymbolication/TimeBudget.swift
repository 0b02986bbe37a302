// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Chooses the level of detail by the time left until the attempt is killed.
struct TimeBudget {
    private let depth: Depth
    private let linesUntil: Instant
    private let namesUntil: Instant
    private let stacksUntil: Instant

    /// Lines during the first half of the time until the deadline, then names, then addresses, then nothing, because
    /// encoding the result takes time, too.
    init(depth: Depth, now: Instant, deadline: Instant) {
        self.depth = depth
        let left = max(.zero, deadline - now)
        linesUntil = now + left * 0.5
        namesUntil = now + left * 0.7
        stacksUntil = now + left * 0.8
    }

    /// The depth to use now; nil if there is no time left for stacks.
    func depth(at now: Instant) -> Depth? {
        guard now < stacksUntil else { return nil }
        return min(depth, now < linesUntil ? .lines : now < namesUntil ? .names : .addresses)
    }
}

/// The level of detail of each frame; a lower one takes less time and parses fewer untrusted bytes.
enum Depth: Int, Comparable, CaseIterable {
    /// Addresses only; libdw parses no file.
    case addresses
    /// Function names.
    case names
    /// Function names, source lines and inlined calls.
    case lines

    static func < (left: Depth, right: Depth) -> Bool { left.rawValue < right.rawValue }
}
